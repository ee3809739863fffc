"""An intent fails, or waits, because of something that it reads, while its own resource is what it was.

What it led to stays as it is, and so does everybody else's: also over restarts, since others go on having its facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from intentc import Context, Intent
from intentc.compilers.ambassador.hostname import HostnameIntent
from intentc.compilers.ambassador.listener import ListenerIntent
from intentc.compilers.ambassador.mapping import MappingIntent
from intentc.compilers.ambassador.mapping_group import MappingGroupIntent
from intentc.compilers.ambassador.upstream_cluster import ClusterIntent
from intentc.retained import retained_facts_prefix
from tests.property.gateway_demands import check_scratch, lived
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest, world
from tests.property.gateways import apply_manifest
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import INSTALLATION, SimulatedSystem

TRIGGER = ("default", "trigger")
FACTS = retained_facts_prefix(INSTALLATION)
Breaking = Callable[[Context], None]


def raises(ctx: Context) -> None:
    if ctx.find("secret", TRIGGER) is not None:
        raise RuntimeError("this secret is more than I can bear")


def waits(ctx: Context) -> None:
    if ctx.find("secret", TRIGGER) is not None:
        ctx.wait_for("secret", ("default", "never"))


@pytest.mark.parametrize("how", [raises, waits])
@pytest.mark.parametrize("broken", [MappingIntent, MappingGroupIntent, ListenerIntent, HostnameIntent, ClusterIntent])
def test_outputs_from_facts_of_a_failing_intent_survive_restarts(
    broken: type[Intent], how: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = broken.evaluate

    def breaking(self: Any, ctx: Context) -> Iterator[Any]:
        how(ctx)
        yield from evaluate(self, ctx)

    monkeypatch.setattr(broken, "evaluate", breaking)
    simulate(_broken_over_restarts, broken.kind)


async def _broken_over_restarts(kind: str) -> None:
    system = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(system, one)
    await system.settle()
    before = (await lived(system)).elements
    assert not system.engine.held_facts()

    await apply_manifest(system, manifest("Secret", TRIGGER[1], version="v1", data={"some": "dGV4dA=="}))
    assert await system.uuid("secret", TRIGGER) is not None
    await system.settle()
    stopped = _stopped(system)
    assert {key.kind for key in stopped} == {kind}
    assert (await lived(system)).elements == before
    await system.store.compact((await system.store.range("/")).revision)
    for _ in range(2):
        await system.restart()
        await system.settle()
        assert _stopped(system) == stopped
        assert (await lived(system)).elements == before

    assert await system.delete("secret", TRIGGER)
    await system.settle()
    assert not _stopped(system)
    assert (await lived(system)).elements == before
    await check_scratch(system)
    assert not await retained(system)


def test_a_suspect_that_failed_before_keeps_its_facts_though_it_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate, runs = MappingIntent.evaluate, []

    def breaking(self: Any, ctx: Context) -> Iterator[Any]:
        runs.append(self.key)
        raises(ctx)
        yield from evaluate(self, ctx)

    monkeypatch.setattr(MappingIntent, "evaluate", breaking)
    simulate(_suspected, runs)


async def _suspected(runs: list[Any]) -> None:
    system = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(system, one)
    await system.settle()
    before = (await lived(system)).elements
    await apply_manifest(system, manifest("Secret", TRIGGER[1], version="v1", data={"some": "dGV4dA=="}))
    await system.settle()
    mappings = _stopped(system)
    assert mappings and system.engine.held_facts().keys() == mappings
    for _ in range(2):
        await system.restart()
        for key in mappings:
            system.engine.operator_actions.suspect(key, 1_000_000)
        runs.clear()
        await system.settle()
        assert not runs
        assert (await lived(system)).elements == before


async def retained(system: SimulatedSystem) -> Iterable[Any]:
    return (await system.store.range(FACTS, FACTS[:-1] + "0")).items


def _stopped(system: SimulatedSystem) -> set[Any]:
    states = system.engine.states
    return {*states.held, *states.waiting}
