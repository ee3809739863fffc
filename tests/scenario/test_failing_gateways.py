"""An intent fails, or waits, because of something that it reads, while its own resource is what it was.

What it led to stays as it is, and so does everybody else's: also over restarts, since others go on having its facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from intentc import Context, Intent
from intentc.compilers.ambassador.cluster import ClusterIntent
from intentc.compilers.ambassador.hostname import HostnameIntent
from intentc.compilers.ambassador.listener import ListenerIntent
from intentc.compilers.ambassador.mapping import MappingIntent
from intentc.compilers.ambassador.mapping_group import MappingGroupIntent
from intentc.retained import retained_facts_prefix
from tests.property.gateway_demands import check_scratch, lived
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest, world
from tests.property.gateways import apply_manifest
from tests.support.simulated_clock import simulate
from tests.support.simulated_system import INSTALLATION, SimulatedSystem

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
def test_what_others_make_of_the_facts_of_a_failing_intent_stays_over_restarts(
    broken: type[Intent], how: Breaking, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = broken.evaluate

    def breaking(self: Any, ctx: Context) -> Iterator[Any]:
        how(ctx)
        yield from evaluate(self, ctx)

    monkeypatch.setattr(broken, "evaluate", breaking)
    simulate(_broken_over_restarts, broken.kind)


async def _broken_over_restarts(kind: str) -> None:
    lab = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(lab, one)
    await lab.settle()
    before = (await lived(lab)).elements
    assert not lab.engine.held_facts()

    await apply_manifest(lab, manifest("Secret", TRIGGER[1], version="v1", data={"some": "dGV4dA=="}))
    assert await lab.uuid("secret", TRIGGER) is not None
    await lab.settle()
    stopped = _stopped(lab)
    assert {key.kind for key in stopped} == {kind}
    assert (await lived(lab)).elements == before
    await lab.store.compact((await lab.store.range("/")).revision)
    for _ in range(2):
        await lab.restart()
        await lab.settle()
        assert _stopped(lab) == stopped
        assert (await lived(lab)).elements == before

    assert await lab.delete("secret", TRIGGER)
    await lab.settle()
    assert not _stopped(lab)
    assert (await lived(lab)).elements == before
    await check_scratch(lab)
    assert not await retained(lab)


def test_a_suspect_that_failed_before_keeps_its_facts_though_it_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate, runs = MappingIntent.evaluate, []

    def breaking(self: Any, ctx: Context) -> Iterator[Any]:
        runs.append(self.key)
        raises(ctx)
        yield from evaluate(self, ctx)

    monkeypatch.setattr(MappingIntent, "evaluate", breaking)
    simulate(_suspected, runs)


async def _suspected(runs: list[Any]) -> None:
    lab = SimulatedSystem(LOADED)
    for one in world():
        await apply_manifest(lab, one)
    await lab.settle()
    before = (await lived(lab)).elements
    await apply_manifest(lab, manifest("Secret", TRIGGER[1], version="v1", data={"some": "dGV4dA=="}))
    await lab.settle()
    mappings = _stopped(lab)
    assert mappings and lab.engine.held_facts().keys() == mappings
    for _ in range(2):
        await lab.restart()
        for key in mappings:
            lab.engine.operator_actions.suspect(key, 1_000_000)
        runs.clear()
        await lab.settle()
        assert not runs
        assert (await lived(lab)).elements == before


async def retained(lab: SimulatedSystem) -> Iterable[Any]:
    return (await lab.store.range(FACTS, FACTS[:-1] + "0")).items


def _stopped(lab: SimulatedSystem) -> set[Any]:
    states = lab.engine.parts.states
    return {*states.held, *states.waiting}
