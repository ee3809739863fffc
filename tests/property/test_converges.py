"""Whatever happened before, the outcome is the oracle's, and a further pass writes nothing (design.md §1).

Random resources arrive in random order, are changed, deleted and spoilt, others meddle with what was compiled, and the
compiler's process dies in the midst of it all. The engine works in one task here, so that an example runs the same
way every time; ``test_concurrent.py`` lets its tasks race.
"""

from __future__ import annotations

import anyio
from hypothesis import given

from tests.property.examples import Examples
from tests.property.laboratory import Laboratory
from tests.property.resources import Put, tenants
from tests.property.steps import Step, histories
from tests.property.demands import check_numbers, check_silence

EXAMPLES = Examples()


@given(tenants(), histories)
def test_any_history_ends_in_what_the_oracle_expects(begin: list[Put], history: list[Step]) -> None:
    anyio.run(_live_through, begin, history)


async def _live_through(begin: list[Put], history: list[Step]) -> None:
    lab = Laboratory()
    await lab.start()
    await lab.put_all(begin)
    for step in history:
        await step.apply(lab)
    await lab.mend()
    await lab.settle()
    found, wanted = await lab.outcome()
    assert found == wanted
    await check_numbers(lab)
    await check_silence(lab)
