"""The promise holds, too, when the engine's tasks, its writes and the users' changes race with each other."""

from __future__ import annotations

import anyio
from hypothesis import given
from hypothesis import strategies as st

from tests.property.demands import check_numbers, check_outcome, check_repair, check_silence
from tests.property.profiles import unshrunk
from tests.property.racing import racing, turns
from tests.property.resources import Put, tenants
from tests.property.steps import Mend, Step, histories

PAUSES = st.lists(st.integers(0, 12), min_size=1, max_size=8)


@unshrunk(0.25)
@given(tenants(), histories, PAUSES)
def test_any_race_ends_in_what_the_oracle_expects(begin: list[Put], history: list[Step], pauses: list[int]) -> None:
    anyio.run(_race, begin, history, pauses)


async def _race(begin: list[Put], history: list[Step], pauses: list[int]) -> None:
    async with racing(pauses) as lab:
        await lab.put_all(begin)
        for step, pause in zip(history, pauses * len(history), strict=False):
            await step.apply(lab)
            await turns(pause)
            # What stays unreadable is refused and backs off for ever: nothing would settle.
            await Mend().apply(lab)
        await lab.settle()
        await check_outcome(lab)
        await check_numbers(lab)
        await check_silence(lab)
        await check_repair(lab)
