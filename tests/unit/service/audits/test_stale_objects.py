"""An object about which the engine is wrong is found, repaired, and the missing reaction that caused it is named."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from intentc.plugins import find_compilers, load_all
from intentc.service.audits import Mismatch, Verdict
from intentc.service.audits.look import MismatchKind
from tests.support.toy.compiler import compiler as toy
from tests.support.waiting import until
from tests.unit.service.audits.audited_system import ROUTE, AuditedSystem, Start, without

pytestmark = pytest.mark.anyio

PROJECT = ("default-domain", "default-project")


async def seeing(system: AuditedSystem) -> None:
    """Box ``b`` shows in its part what box ``a`` holds, and the map knows nothing of it; then ``a`` changes."""
    await system.create("box", "a", text="first")
    await system.create("box", "b", text="see a")
    await system.change("box", "a", text="second")


def only(verdict: Verdict) -> Mismatch:
    (mismatch,) = verdict.mismatches
    return mismatch


async def test_a_stale_object_is_found_repaired_and_its_missing_reaction_named(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    system = await start(healing=False)
    await seeing(system)
    assert await system.content("b") == "first"
    mismatch = only(await system.auditing.once("a test"))
    assert (mismatch.kind, mismatch.name, mismatch.sort) == ("part", "b:one", MismatchKind.STALE)
    assert mismatch.origins == (f"box/{(await system.key('box', 'b')).uuid}",)
    assert mismatch.missing_reactions == ("box <- box",)
    assert mismatch.repaired
    assert await system.content("b") == "second"
    assert system.engine.evaluator.missing_reactions == {("box", "box"): 1}
    assert any("part b:one differs" in record.message for record in caplog.records if record.levelno == logging.ERROR)


async def test_a_second_audit_finds_nothing(start: Start) -> None:
    system = await start(healing=False)
    await seeing(system)
    await system.auditing.once("a test")
    assert await system.auditing.once("again") == Verdict(system.engine.revision, 0)
    figures = system.auditing.figures()
    assert (figures["runs"], figures["mismatches"], figures["last_result"]) == (2, 1, "equal")
    assert figures["last_revision"] == system.engine.revision
    assert figures["last_success"] > 0


async def test_with_healing_there_is_nothing_to_find(start: Start) -> None:
    system = await start(healing=True)
    await seeing(system)
    assert await system.content("b") == "second"
    assert (await system.auditing.once("a test")).differences == 0
    assert system.engine.evaluator.missing_reactions == {("box", "box"): 1}


async def test_what_a_deletion_left_stale_names_the_kind_that_is_gone(start: Start) -> None:
    system = await start(healing=False)
    await system.create("box", "a", text="first")
    await system.create("box", "b", text="see a")
    await system.offline.server.delete(await system.key("box", "a"))
    await system.settled()
    mismatch = only(await system.auditing.once("a test"))
    assert (mismatch.name, mismatch.missing_reactions, mismatch.repaired) == ("b:one", ("box <- box",), True)
    assert await system.content("b") == "nothing"


async def test_an_object_whose_event_was_lost_is_read_back_and_repaired(start: Start) -> None:
    system = await start(healing=True)
    await system.create("box", "a", text="first")
    system.deaf = True
    await system.change("part", "a", "one", settle=False, content="edited")
    await until(lambda: not system.offline.store.batches("/contrail/", system.heard))
    system.deaf = False
    await system.create("box", "b", text="first")
    assert await system.content("a") == "edited"
    mismatch = only(await system.auditing.once("a test"))
    assert (mismatch.name, mismatch.sort, mismatch.repaired) == ("a:one", MismatchKind.MISSED, True)
    assert await system.content("a") == "first"


async def test_an_object_that_nobody_ever_planned_is_planned(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    system = await start(healing=True)
    await system.create("box", "a", text="first")
    monkeypatch.setattr(system.engine._applier._object_changes, "_concerns_us", lambda name: False)
    await system.change("part", "a", "one", content="edited")
    mismatch = only(await system.auditing.once("a test"))
    assert (mismatch.name, mismatch.sort, mismatch.repaired) == ("a:one", MismatchKind.UNPLANNED, True)
    assert mismatch.missing_reactions == ()
    assert await system.content("a") == "first"


async def test_an_audit_names_the_source_of_a_stale_fact() -> None:
    """The service's fact is stale, the gateway's listener only follows from it. The route has changed, too, but the
    gateway has been evaluated since."""
    loaded = load_all([toy])
    reactions = without(loaded.reactions, "toy_pod", "self", "toy_service")
    reactions = without(reactions, "toy_route", "self", "toy_gateway")
    system = AuditedSystem(loaded._replace(reactions=reactions), healing=False)
    async with system.running():
        await system.settled()
        await system.shop()
        await system.manifest("toy_route", "route", **ROUTE, timeout_ms=5)
        await system.manifest("toy_gateway", "front", hostname="*.example", port=81)
        await system.manifest("toy_pod", "pod", {"app": "web"}, address="10.0.0.2")
        mismatch = only(await system.auditing.once("a test"))
        assert (mismatch.kind, mismatch.sort, mismatch.repaired) == ("toy_listener", MismatchKind.STALE, True)
        assert mismatch.missing_reactions == ("toy_service <- toy_pod",)
        assert (await system.auditing.once("again")).differences == 0


@pytest.mark.parametrize(
    ("kind", "visited"), [("security_group", "security_group"), ("global_system_config", "logical_router")]
)
async def test_a_reaction_that_is_taken_out_of_the_shipped_map_is_named(kind: str, visited: str) -> None:
    loaded = load_all(find_compilers(["contrail"]))
    system = AuditedSystem(loaded._replace(reactions=without(loaded.reactions, kind, "self", visited)), healing=False)
    await system.offline.seed()
    async with system.running():
        await system.settled()
        await system.create("security_group", *PROJECT, "naming", **mentioning("named"))
        await system.create("logical_router", *PROJECT, "router")
        await system.create("security_group", *PROJECT, "named")
        await system.change("global_system_config", "default-global-system-config", autonomous_system=65000)
        verdict = await system.auditing.once("a test")
        assert {pair for mismatch in verdict.mismatches for pair in mismatch.missing_reactions} == {
            f"{visited} <- {kind}"
        }
        assert all(mismatch.repaired for mismatch in verdict.mismatches)
        assert (await system.auditing.once("again")).differences == 0


def mentioning(group: str) -> dict[str, Any]:
    """The rules of a group that let another one in."""
    sides = {"src_addresses": [{"security_group": ":".join((*PROJECT, group))}],
             "dst_addresses": [{"security_group": "local"}]}  # fmt: skip
    ports = {side: [{"start_port": 0, "end_port": 65535}] for side in ("src_ports", "dst_ports")}
    rule = {"direction": ">", "protocol": "any", "ethertype": "IPv4", **sides, **ports}
    return {"security_group_entries": {"policy_rule": [rule]}}
