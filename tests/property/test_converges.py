"""Whatever happened before, the outcome is the oracle's, and a further pass writes nothing (docs/architecture.md).

Random resources arrive in random order, are changed, deleted and spoilt, others meddle with what was compiled, and the
compiler's process dies in the midst of it all. The engine works in one task here, so that an example runs the same
way every time; ``tests/simulation`` lets its tasks race.
"""

from __future__ import annotations

from hypothesis import assume, given

from tests.property.demands import check_repair, check_silence, live
from tests.property.examples import Examples
from tests.property.profiles import share_of_histories
from tests.property.resources import Put, large_tenants, relations, tenants
from tests.property.steps import Step, histories
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import SimulatedSystem

MANY = 20
"""Objects that the compiler must have made before its silence says something (docs/engine.md §10)."""


def test_any_history_ends_in_what_the_oracle_expects() -> None:
    examples = Examples("cross reference", "forward reference", "merged object", "service chain")

    @share_of_histories(0.5)
    @given(tenants(), histories)
    def live_through(begin: list[Put], history: list[Step]) -> None:
        examples.note(relations(begin) | simulate(live, begin, history))

    live_through()
    examples.check()


@share_of_histories(0.2)
@given(large_tenants())
def test_a_further_pass_over_many_objects_writes_nothing(begin: list[Put]) -> None:
    simulate(_compile_twice, begin)


async def _compile_twice(begin: list[Put]) -> None:
    system = SimulatedSystem()
    await system.start()
    await system.put_all(begin)
    await system.settle()
    assume(len(await system.owned()) >= MANY)
    await check_silence(system)
    await check_repair(system)
