"""What differs from an audit with good reason is no mismatch: the world goes on while the audit compiles."""

from __future__ import annotations

import random

import anyio
import msgspec
import pytest

from intentc.directives import Book, Pause
from intentc.journal import Entry
from intentc.model import Key
from intentc.plugins import load_all
from intentc.reconcile.failures import Rejected, Throttled
from intentc.service.audits import Verdict
from intentc.service.audits.look import Look, MismatchKind
from tests.support.box_system import Gate, part
from tests.support.toy.compiler import compiler as toy
from tests.support.waiting import until
from tests.unit.service.audits.audited_system import AuditedSystem, Start

pytestmark = pytest.mark.anyio


@pytest.fixture
async def system(start: Start) -> AuditedSystem:
    """A world with one box, whose part is written."""
    system = await start(healing=True)
    await system.create("box", "a", text="first")
    return system


async def audited(system: AuditedSystem, differences: int = 1) -> None:
    """The audit sees so many differences, and none of them is a mismatch."""
    verdict = await system.auditing.once("a test")
    assert verdict == Verdict(verdict.revision, differences)
    assert system.auditing.figures()["mismatches"] == 0


async def test_a_write_that_is_under_way(system: AuditedSystem) -> None:
    gate = system.write.gates["update a"] = Gate()
    await system.change("box", "a", settle=False, text="second")
    await gate.entered.wait()
    await audited(system)
    gate.opened.set()
    await system.settled()
    await audited(system, differences=0)


async def test_an_object_that_was_written_while_the_audit_compiled(system: AuditedSystem) -> None:
    gate = system.write.gates["update a"] = Gate()
    await system.change("part", "a", "one", settle=False, content="edited")
    await gate.entered.wait()

    async def finish() -> None:
        gate.opened.set()
        await system.settled()

    system.meanwhile = finish
    await audited(system)
    assert await system.content("a") == "first"


async def test_an_object_that_went_while_the_audit_compiled(system: AuditedSystem) -> None:
    gate = system.write.gates["update a"] = Gate()
    await system.change("box", "a", settle=False, text="second")
    await gate.entered.wait()

    async def finish() -> None:
        await system.offline.server.delete(await system.key("box", "a"))
        gate.opened.set()
        await system.settled()

    system.meanwhile = finish
    await audited(system)
    assert not system.engine.planner.plan(part("a")).operations


async def test_an_event_that_is_still_on_its_way(system: AuditedSystem) -> None:
    """The audit lists a change that the engine gets only afterwards."""
    system.hold.clear()
    await system.change("box", "a", settle=False, text="second")

    async def arrive() -> None:
        system.hold.set()

    system.meanwhile = arrive
    await audited(system)
    await system.settled()
    assert await system.content("a") == "second"


@pytest.mark.parametrize("error", [Rejected(400, "as the test asked for"), Throttled(60.0)])
async def test_an_object_that_the_server_does_not_take(system: AuditedSystem, error: Exception) -> None:
    system.write.failures["a"] = [error] * 100
    await system.change("box", "a", settle=False, text="second")
    states = system.engine.states
    await until(lambda: part("a") in states.rejected or part("a") in states.delayed)
    await audited(system)


async def test_a_number_that_is_not_granted_yet(system: AuditedSystem) -> None:
    uuid = (await system.key("box", "a")).uuid
    system.write.failures[uuid] = [Rejected(400, "as the test asked for")] * 100
    await system.change("box", "a", settle=False, text="number")
    await until(lambda: f"allocate {uuid}" in system.write.log)
    await audited(system)


async def test_a_number_that_was_granted_while_the_audit_compiled(system: AuditedSystem) -> None:
    uuid = (await system.key("box", "a")).uuid
    gate = system.write.gates[f"allocate {uuid}"] = Gate()
    await system.change("box", "a", settle=False, text="number")
    await gate.entered.wait()

    async def grant() -> None:
        gate.opened.set()
        await system.settled()

    system.meanwhile = grant
    await audited(system)


async def test_a_delete_that_needs_approval_here(system: AuditedSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is one of many, while the audit's own pass finds only what is left of them."""
    monkeypatch.setattr(system.engine.planner.guard, "holds", lambda name: True)
    await system.offline.server.delete(await system.key("box", "a"))
    await system.settled()
    await audited(system)


async def test_an_object_that_is_paused_here_and_not_yet_there(system: AuditedSystem) -> None:
    """The order was given after the audit had read the orders."""
    system.engine.operator_actions.pause(await system.key("part", "a", "one"), ("a", "one"), "")
    await system.change("part", "a", "one", content="edited")
    await audited(system)
    assert await system.content("a") == "edited"


async def test_an_intent_that_is_paused_here_and_not_yet_there(system: AuditedSystem) -> None:
    """The order was given after the audit had read the orders."""
    box = await system.key("box", "a")
    system.engine.operator_actions.pause(box, ("a",), "")
    await system.change("box", "a", text="second")
    await audited(system)
    assert await system.content("a") == "first"


async def test_what_may_not_be_written_now(system: AuditedSystem) -> None:
    """A standby plans, and writes nothing."""
    system.engine.withhold("standing by", "another leads")
    await system.change("box", "a", settle=False, text="second")
    await until(lambda: part("a") in system.engine.states.planned)
    await audited(system)
    assert await system.content("a") == "first"


async def test_what_follows_from_what_can_not_be_read_is_no_difference(system: AuditedSystem) -> None:
    """A compile from scratch finds the last readable value in the history of etcd."""
    await system.create("box", "b", text="see a")
    await system.put(await system.key("box", "a"), b"{")
    await audited(system, differences=0)
    assert await system.content("b") == "first"


async def test_what_follows_from_what_can_not_be_read_and_was_compacted(system: AuditedSystem) -> None:
    """A compile from scratch can't know the name of a box whose value is no JSON; here its reader is held."""
    await system.create("box", "b", text="see a")
    await system.put(await system.key("box", "a"), b"{")
    store = system.offline.store
    await store.compact((await store.range("/")).revision)
    await audited(system)
    assert await system.content("b") == "first"


async def test_what_can_not_be_read_since_the_audit_compiled(start: Start) -> None:
    """The part of the box is stale indeed, but by now nobody knows what the box wants."""
    system = await start(healing=False)
    await system.create("box", "a", text="first")
    await system.create("box", "b", text="see a")
    await system.change("box", "a", text="second")
    key = await system.key("box", "b")

    async def spoil() -> None:
        await system.put(key, b"{")

    system.meanwhile = spoil
    await audited(system)


async def test_outputs_from_a_paused_intents_fact_are_no_difference() -> None:
    """A compile from scratch evaluates what is paused for its facts alone."""
    system = AuditedSystem(load_all([toy]), healing=True)
    async with system.running():
        await system.settled()
        await system.shop()
        service = Key("toy_service", "uid-toy_service-web")
        await Book(system.offline.store, "default").put(Pause(kind=service.kind, uuid=service.uuid))
        system.engine.operator_actions.pause(service, ("web",), "")
        await system.settled()
        await audited(system, differences=0)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_goes_on_meanwhile(system: AuditedSystem, seed: int) -> None:
    """Changes, edits and deletes in every moment of an audit; the engine is right all the time, if late."""
    chance = random.Random(seed)
    boxes = ["a", "b", "c", "d"]
    for box in boxes[1:]:
        await system.create("box", box, text="first")

    async def go_on() -> None:
        for _ in range(chance.randrange(1, 6)):
            box, other = chance.sample(boxes, 2)
            match chance.randrange(4):
                case 0:
                    await system.change("box", box, settle=False, text=f"see {other}")
                case 1:
                    await system.change("box", box, settle=False, text=f"text {chance.randrange(100)}")
                case 2:
                    await system.offline.server.delete(await system.key("box", box))
                    await system.create("box", box, settle=False, text="new")
                case 3:
                    system.hold.clear() if system.hold.is_set() else system.hold.set()
            for _ in range(chance.randrange(20)):
                await anyio.lowlevel.checkpoint()

    async def go_on_and_hear() -> None:
        await go_on()
        system.hold.set()

    system.meanwhile = go_on_and_hear
    differences = 0
    for _ in range(40):
        await go_on()
        verdict = await system.auditing.once("a test")
        assert verdict.mismatches == ()
        differences += verdict.differences
    assert differences >= 10
    await system.settled()
    system.meanwhile = None
    await audited(system, differences=0)


async def test_an_input_that_changed_and_changed_back(system: AuditedSystem) -> None:
    """The audit saw the moment in between, the object was never written."""
    await system.create("box", "b", text="see a")
    system.hold.clear()
    await system.change("box", "a", settle=False, text="second")

    async def change_back() -> None:
        await system.change("box", "a", settle=False, text="first")
        system.hold.set()
        await system.settled()

    system.meanwhile = change_back
    await audited(system, differences=2)


async def test_what_an_intent_that_went_since_had_a_say_in(start: Start) -> None:
    """It is stale as long as all intents exist that the audit names."""
    system = await start(healing=False)
    await system.create("box", "a", text="first")
    await system.create("box", "b", text="see a")
    await system.change("box", "a", text="second")
    report = await system.spawn()
    (difference,) = report.differences
    look = Look(system.engine, report.revision)
    assert look.sort_of(difference) is MismatchKind.STALE
    gone = msgspec.structs.replace(difference, origins=(*difference.origins, "box/gone"))
    assert look.sort_of(gone) is None


async def test_nothing_is_judged_while_a_deletion_is_on_its_way(system: AuditedSystem) -> None:
    """Nothing that was listed is newer than what the engine knows; but there is less."""
    await system.create("box", "b", text="see a")
    await system.create("box", "c", text="as it was")
    system.hold.clear()
    system.auditing = system.auditor(patience=0.2)
    await system.offline.server.delete(await system.key("box", "a"))
    verdict = await system.auditing.once("a test")
    assert (verdict.judged, verdict.mismatches) == (False, ())
    assert verdict.differences >= 1
    system.hold.set()


async def test_nothing_is_judged_once_the_journal_does_not_reach_back_any_more(system: AuditedSystem) -> None:
    system.hold.clear()
    await system.change("box", "a", settle=False, text="second")

    async def forget() -> None:
        system.hold.set()
        await system.settled()
        key = await system.key("box", "a")
        for _ in range(10_000):
            system.engine.journal.add(Entry(system.engine.revision, key, (), "done", 1, ()))

    system.meanwhile = forget
    assert not (await system.auditing.once("a test")).judged


async def test_nothing_is_judged_while_the_engine_is_not_idle(system: AuditedSystem) -> None:
    system.hold.clear()
    system.auditing = system.auditor(patience=0.2)
    await system.change("box", "a", settle=False, text="second")
    verdict = await system.auditing.once("a test")
    assert (verdict.judged, verdict.differences, verdict.mismatches) == (False, 1, ())
    assert system.auditing.figures()["last_result"] == "not judged"
    assert system.auditing.figures()["last_success"] == 0.0
    system.hold.set()
