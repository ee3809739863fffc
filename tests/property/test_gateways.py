"""Ambassador's gateways after any history: Envoy's elements mean what the oracle says, and are those of a compile from
nothing, with the same problems.

Why meaning, and not elements, is compared with the oracle: how the compiler divides the work among virtual hosts,
routes and clusters is its own business; where a request goes is not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.ambassador import Request
from tests.oracle.ambassador_manifests import Json
from tests.property.demands import check_silence
from tests.property.examples import Examples
from tests.property.gateway_demands import ASKED, check_meaning, check_repair, check_scratch
from tests.property.gateway_steps import ELEMENTS, LOADED
from tests.property.gateways import (
    KNOWN,
    MANY,
    REQUESTS,
    ApplyManifest,
    RemoveManifest,
    anything,
    apply_manifest,
    gateways,
)
from tests.property.profiles import share_of_histories
from tests.property.steps import (
    Compact,
    DeleteLower,
    DeliverAgain,
    Forecast,
    Kill,
    Repair,
    Restart,
    Settle,
    Spoil,
    Step,
)
from tests.simulation.request_faults import Outcome
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import SimulatedSystem

_steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(ApplyManifest, anything),
    st.builds(ApplyManifest, anything),
    st.builds(RemoveManifest, anything),
    st.builds(DeleteLower, st.sampled_from(ELEMENTS), st.integers(0, 11), st.just(False)),
    st.builds(Spoil, st.sampled_from(KNOWN), st.integers(0, 11), st.sampled_from([b"", b"{}"])),
    st.builds(Repair),
    st.builds(Settle),
    st.builds(Restart, st.booleans()),
    st.builds(Kill, st.integers(0, 8), st.booleans()),
    st.builds(Forecast, st.lists(st.sampled_from(list(Outcome)), min_size=1, max_size=12).map(tuple)),
    st.builds(DeliverAgain, st.integers(1, 20)),
    st.builds(Compact),
)
histories = st.lists(_steps, min_size=4, max_size=16)


def test_any_history_ends_in_elements_that_mean_what_the_oracle_says() -> None:
    examples = Examples("forwarded", "divided")

    @share_of_histories(0.2)
    @given(gateways, histories, st.integers(0, 10**6))
    def live_through(begin: list[Json], history: list[Step], seed: int) -> None:
        examples.note(simulate(_live, begin, history, random.Random(seed).sample(REQUESTS, ASKED)))

    live_through()
    examples.check()


@share_of_histories(0.1)
@given(gateways)
def test_a_further_pass_over_many_elements_writes_nothing(begin: list[Json]) -> None:
    simulate(_compile_twice, begin)


async def _compile_twice(begin: Sequence[Json]) -> None:
    system = SimulatedSystem(LOADED)
    for manifest in [*MANY, *begin]:
        await apply_manifest(system, manifest)
    await system.settle()
    assert len(await system.owned()) >= len(MANY)
    await check_silence(system)
    await check_repair(system)


async def _live(begin: Sequence[Json], history: Sequence[Step], requests: Sequence[Request]) -> set[str]:
    system = SimulatedSystem(LOADED)
    for manifest in begin:
        await apply_manifest(system, manifest)
    for step in history:
        await step.apply(system)
    await system.end_faults()
    await system.settle()
    features = check_meaning(await system.world(), requests)
    await check_scratch(system)
    await check_silence(system)
    return features
