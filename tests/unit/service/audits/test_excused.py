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
from intentc.service.audits import Verdict
from intentc.service.audits.look import Look, Sort
from intentc.writing import Rejected, Throttled
from tests.support.audited_system import AuditedSystem, Start
from tests.support.box_system import Gate, part, until
from tests.support.toy.compiler import compiler as toy

pytestmark = pytest.mark.anyio


@pytest.fixture
async def beside(start: Start) -> AuditedSystem:
    """A world with one box, whose part is written."""
    beside = await start(healing=True)
    await beside.create("box", "a", text="first")
    return beside


async def audited(beside: AuditedSystem, differences: int = 1) -> None:
    """The audit sees so many differences, and none of them is a mismatch."""
    verdict = await beside.auditing.once("a test")
    assert verdict == Verdict(verdict.revision, differences)
    assert beside.auditing.figures()["mismatches"] == 0


async def test_a_write_that_is_under_way(beside: AuditedSystem) -> None:
    gate = beside.write.gates["update a"] = Gate()
    await beside.change("box", "a", settle=False, text="second")
    await gate.entered.wait()
    await audited(beside)
    gate.opened.set()
    await beside.settled()
    await audited(beside, differences=0)


async def test_an_object_that_was_written_while_the_audit_compiled(beside: AuditedSystem) -> None:
    gate = beside.write.gates["update a"] = Gate()
    await beside.change("part", "a", "one", settle=False, content="edited")
    await gate.entered.wait()

    async def finish() -> None:
        gate.opened.set()
        await beside.settled()

    beside.meanwhile = finish
    await audited(beside)
    assert await beside.content("a") == "first"


async def test_an_object_that_went_while_the_audit_compiled(beside: AuditedSystem) -> None:
    gate = beside.write.gates["update a"] = Gate()
    await beside.change("box", "a", settle=False, text="second")
    await gate.entered.wait()

    async def finish() -> None:
        await beside.offline.server.delete(await beside.key("box", "a"))
        gate.opened.set()
        await beside.settled()

    beside.meanwhile = finish
    await audited(beside)
    assert not beside.parts.planner.plan(part("a")).operations


async def test_an_event_that_is_still_on_its_way(beside: AuditedSystem) -> None:
    """The audit lists a change that the engine gets only afterwards."""
    beside.hold.clear()
    await beside.change("box", "a", settle=False, text="second")

    async def arrive() -> None:
        beside.hold.set()

    beside.meanwhile = arrive
    await audited(beside)
    await beside.settled()
    assert await beside.content("a") == "second"


@pytest.mark.parametrize("error", [Rejected(400, "as the test asked for"), Throttled(60.0)])
async def test_an_object_that_the_server_does_not_take(beside: AuditedSystem, error: Exception) -> None:
    beside.write.failures["a"] = [error] * 100
    await beside.change("box", "a", settle=False, text="second")
    await until(lambda: part("a") in beside.parts.objects.delayed())
    await audited(beside)


async def test_a_number_that_is_not_granted_yet(beside: AuditedSystem) -> None:
    uuid = (await beside.key("box", "a")).uuid
    beside.write.failures[uuid] = [Rejected(400, "as the test asked for")] * 100
    await beside.change("box", "a", settle=False, text="number")
    await until(lambda: f"allocate {uuid}" in beside.write.log)
    await audited(beside)


async def test_a_number_that_was_granted_while_the_audit_compiled(beside: AuditedSystem) -> None:
    uuid = (await beside.key("box", "a")).uuid
    gate = beside.write.gates[f"allocate {uuid}"] = Gate()
    await beside.change("box", "a", settle=False, text="number")
    await gate.entered.wait()

    async def grant() -> None:
        gate.opened.set()
        await beside.settled()

    beside.meanwhile = grant
    await audited(beside)


async def test_a_delete_that_needs_approval_here(beside: AuditedSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is one of many, while the audit's own pass finds only what is left of them."""
    monkeypatch.setattr(beside.parts.planner.guard, "holds", lambda name: True)
    await beside.offline.server.delete(await beside.key("box", "a"))
    await beside.settled()
    await audited(beside)


async def test_an_object_that_is_paused_here_and_not_yet_there(beside: AuditedSystem) -> None:
    """The order was given after the audit had read the orders."""
    beside.engine.operator_actions.pause(await beside.key("part", "a", "one"), ("a", "one"), "")
    await beside.change("part", "a", "one", content="edited")
    await audited(beside)
    assert await beside.content("a") == "edited"


async def test_an_intent_that_is_paused_here_and_not_yet_there(beside: AuditedSystem) -> None:
    """The order was given after the audit had read the orders."""
    box = await beside.key("box", "a")
    beside.engine.operator_actions.pause(box, ("a",), "")
    await beside.change("box", "a", text="second")
    await audited(beside)
    assert await beside.content("a") == "first"


async def test_what_may_not_be_written_now(beside: AuditedSystem) -> None:
    """A standby plans, and writes nothing."""
    beside.parts.permission.withhold("standing by", "another leads")
    await beside.change("box", "a", settle=False, text="second")
    await until(lambda: part("a") in beside.parts.states.planned)
    await audited(beside)
    assert await beside.content("a") == "first"


async def test_what_follows_from_what_can_not_be_read_is_no_difference(beside: AuditedSystem) -> None:
    """A compile from scratch finds the last readable value in the history of etcd."""
    await beside.create("box", "b", text="see a")
    await beside.put("box", (await beside.key("box", "a")).uuid, b"{")
    await audited(beside, differences=0)
    assert await beside.content("b") == "first"


async def test_what_follows_from_what_can_not_be_read_and_was_compacted(beside: AuditedSystem) -> None:
    """A compile from scratch can't know the name of a box whose value is no JSON; here its reader is held."""
    await beside.create("box", "b", text="see a")
    await beside.put("box", (await beside.key("box", "a")).uuid, b"{")
    store = beside.offline.store
    await store.compact((await store.range("/")).revision)
    await audited(beside)
    assert await beside.content("b") == "first"


async def test_what_can_not_be_read_since_the_audit_compiled(start: Start) -> None:
    """The part of the box is stale indeed, but by now nobody knows what the box wants."""
    beside = await start(healing=False)
    await beside.create("box", "a", text="first")
    await beside.create("box", "b", text="see a")
    await beside.change("box", "a", text="second")
    uuid = (await beside.key("box", "b")).uuid

    async def spoil() -> None:
        await beside.put("box", uuid, b"{")

    beside.meanwhile = spoil
    await audited(beside)


async def test_what_follows_from_the_fact_of_an_intent_that_is_paused_is_no_difference() -> None:
    """A compile from scratch evaluates what is paused for its facts alone."""
    beside = AuditedSystem(load_all([toy]), healing=True)
    async with beside.running():
        await beside.settled()
        await beside.shop()
        service = Key("toy_service", "uid-toy_service-web")
        await Book(beside.offline.store, "default").put(Pause(kind=service.kind, uuid=service.uuid))
        beside.engine.operator_actions.pause(service, ("web",), "")
        await beside.settled()
        await audited(beside, differences=0)


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_goes_on_meanwhile(beside: AuditedSystem, seed: int) -> None:
    """Changes, edits and deletes in every moment of an audit; the engine is right all the time, if late."""
    chance = random.Random(seed)
    boxes = ["a", "b", "c", "d"]
    for box in boxes[1:]:
        await beside.create("box", box, text="first")

    async def go_on() -> None:
        for _ in range(chance.randrange(1, 6)):
            box, other = chance.sample(boxes, 2)
            match chance.randrange(4):
                case 0:
                    await beside.change("box", box, settle=False, text=f"see {other}")
                case 1:
                    await beside.change("box", box, settle=False, text=f"text {chance.randrange(100)}")
                case 2:
                    await beside.offline.server.delete(await beside.key("box", box))
                    await beside.create("box", box, settle=False, text="new")
                case 3:
                    beside.hold.clear() if beside.hold.is_set() else beside.hold.set()
            for _ in range(chance.randrange(20)):
                await anyio.lowlevel.checkpoint()

    async def go_on_and_hear() -> None:
        await go_on()
        beside.hold.set()

    beside.meanwhile = go_on_and_hear
    differences = 0
    for _ in range(40):
        await go_on()
        verdict = await beside.auditing.once("a test")
        assert verdict.mismatches == ()
        differences += verdict.differences
    assert differences >= 10
    await beside.settled()
    beside.meanwhile = None
    await audited(beside, differences=0)


async def test_an_input_that_changed_and_changed_back(beside: AuditedSystem) -> None:
    """The audit saw the moment in between, the object was never written."""
    await beside.create("box", "b", text="see a")
    beside.hold.clear()
    await beside.change("box", "a", settle=False, text="second")

    async def change_back() -> None:
        await beside.change("box", "a", settle=False, text="first")
        beside.hold.set()
        await beside.settled()

    beside.meanwhile = change_back
    await audited(beside, differences=2)


async def test_what_an_intent_that_went_since_had_a_say_in(start: Start) -> None:
    """It is stale as long as all intents exist that the audit names."""
    beside = await start(healing=False)
    await beside.create("box", "a", text="first")
    await beside.create("box", "b", text="see a")
    await beside.change("box", "a", text="second")
    report = await beside.spawn()
    (difference,) = report.differences
    look = Look(beside.engine, report.revision)
    assert look.sort_of(difference) is Sort.STALE
    gone = msgspec.structs.replace(difference, origins=(*difference.origins, "box/gone"))
    assert look.sort_of(gone) is None


async def test_nothing_is_judged_while_a_deletion_is_on_its_way(beside: AuditedSystem) -> None:
    """Nothing that was listed is newer than what the engine knows; but there is less."""
    await beside.create("box", "b", text="see a")
    await beside.create("box", "c", text="as it was")
    beside.hold.clear()
    beside.auditing = beside.auditor(patience=0.2)
    await beside.offline.server.delete(await beside.key("box", "a"))
    verdict = await beside.auditing.once("a test")
    assert (verdict.judged, verdict.mismatches) == (False, ())
    assert verdict.differences >= 1
    beside.hold.set()


async def test_nothing_is_judged_once_the_journal_does_not_reach_back_any_more(beside: AuditedSystem) -> None:
    beside.hold.clear()
    await beside.change("box", "a", settle=False, text="second")

    async def forget() -> None:
        beside.hold.set()
        await beside.settled()
        key = await beside.key("box", "a")
        for _ in range(10_000):
            beside.parts.journal.add(Entry(beside.parts.logic.revision, key, (), "done", 1, ()))

    beside.meanwhile = forget
    assert not (await beside.auditing.once("a test")).judged


async def test_nothing_is_judged_while_the_engine_does_not_come_to_rest(beside: AuditedSystem) -> None:
    beside.hold.clear()
    beside.auditing = beside.auditor(patience=0.2)
    await beside.change("box", "a", settle=False, text="second")
    verdict = await beside.auditing.once("a test")
    assert (verdict.judged, verdict.differences, verdict.mismatches) == (False, 1, ())
    assert beside.auditing.figures()["last_result"] == "not judged"
    assert beside.auditing.figures()["last_success"] == 0.0
    beside.hold.set()
