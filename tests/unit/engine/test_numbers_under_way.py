"""Allocations while answers are under way: none is lost, none is given twice, and a rejected one delays no other
(docs/engine.md §8)."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.model import Delete, Name
from intentc.reconcile.failures import Failure, Rejected, Throttled, UnknownOutcome
from intentc.writing import Written
from tests.support.box_system import BoxSystem, Gate
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

FIVE = ["a", "b", "c", "d", "e"]
ERRORS = [UnknownOutcome("cut off"), Rejected(403, "no"), Throttled(300.0)]


async def asked(box_system: BoxSystem, call: str) -> Gate:
    """A gate at which this call waits by now."""
    gate = box_system.write.gates[call] = Gate()
    await until(gate.entered.is_set)
    return gate


async def evaluated(box_system: BoxSystem) -> None:
    """Everything in the store is applied and evaluated, though writes may be under way."""
    batches = box_system.offline.store.batches
    await until(lambda: not batches("/contrail/", box_system.engine.revision) and box_system.engine.jobs.idle)


async def test_a_number_granted_to_an_owner_that_no_longer_requests_it_is_freed(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    call = f"allocate {(await box_system.key('box', 'a')).uuid}"
    async with box_system.running():
        gate = await asked(box_system, call)
        await box_system.change("a", text="plain", settle=False)
        await evaluated(box_system)
        gate.opened.set()
        await box_system.settled()
        assert await box_system.numbers() == {}
        assert await box_system.contents() == {"a": "plain"}


async def test_an_intent_that_requests_several_numbers_runs_again_when_it_has_all_of_them(
    box_system: BoxSystem,
) -> None:
    before = box_system.engine.evaluator.runs
    async with box_system.running():
        await box_system.boxes("a", text="numbers 5", settle=False)
        await box_system.settled()
    assert box_system.engine.evaluator.runs == before + 2
    assert sorted(box_system.write.log)[-5:] == [f"create ticket-{number}" for number in range(1, 6)]


async def test_an_intent_whose_one_number_of_several_is_rejected_waits_for_it(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="numbers 2", settle=False)
    uuid = (await box_system.key("box", "a")).uuid
    box_system.write.failures[uuid] = [Rejected(403, "no")]
    async with box_system.running():
        await box_system.settled()
        await until(lambda: "create ticket-2" in box_system.write.log)
    assert box_system.write.log.count(f"allocate {uuid}") == 3


async def test_a_number_granted_to_a_deleted_owner_is_freed(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    call = f"allocate {(await box_system.key('box', 'a')).uuid}"
    async with box_system.running():
        gate = await asked(box_system, call)
        await box_system.remove("a", settle=False)
        await evaluated(box_system)
        gate.opened.set()
        await box_system.settled()
        assert await box_system.numbers() == {}
        assert box_system.write.log == [call, "free 1"]


async def test_a_number_stays_allocated_while_its_object_is_being_deleted(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    await box_system.remove("a", settle=False)
    async with box_system.running():
        gate = await asked(box_system, "delete ticket-1")
        await box_system.boxes("b", text="number", settle=False)
        await until(lambda: "create ticket-2" in box_system.write.log)
        assert "free 1" not in box_system.write.log
        gate.opened.set()
        await box_system.settled()
        assert box_system.write.log[-1] == "free 1"
        assert list((await box_system.numbers()).values()) == [2]


async def test_an_engine_has_not_converged_before_it_freed_an_allocation(
    box_system: BoxSystem, mocker: MockerFixture
) -> None:
    """The watch shows the deletion before its answer arrives, so that the end of the write is the last event. The
    engine is looked at in each turn of the loop: a wait for its convergence may end in any of them."""
    await box_system.boxes("a", text="number")
    engine, delete = box_system.engine, box_system.write.delete
    log_when_converged: list[list[str]] = []

    async def answered_after_the_echo(operation: Delete, fence: str | None = None, /) -> Written:
        written = await delete(operation, fence)
        await until(lambda: engine.revision >= (written.revision or 0))
        return written

    mocker.patch.object(box_system.write, "delete", answered_after_the_echo)
    async with box_system.running():
        await box_system.settled()
        await box_system.remove("a", settle=False)
        with anyio.fail_after(PATIENCE):
            while "free 1" not in box_system.write.log:
                if engine.converged and "delete ticket-1" in box_system.write.log:
                    log_when_converged.append(list(box_system.write.log))
                await asyncio.sleep(0)
        await box_system.settled()
    assert log_when_converged == []
    assert box_system.write.log[-2:] == ["delete ticket-1", "free 1"]


async def test_a_number_stays_allocated_while_its_object_is_being_created(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", text="number", settle=False)
    async with box_system.running():
        gate = await asked(box_system, "create ticket-1")
        await box_system.remove("a", settle=False)
        await evaluated(box_system)
        await box_system.boxes("b", text="number", settle=False)
        await until(lambda: "create ticket-2" in box_system.write.log)
        assert "free 1" not in box_system.write.log
        gate.opened.set()
        await box_system.settled()
        assert box_system.write.log[-2:] == ["delete ticket-1", "free 1"]
        assert list((await box_system.numbers()).values()) == [2]


async def test_a_number_stays_taken_while_nobody_knows_whether_its_object_was_created(box_system: BoxSystem) -> None:
    box_system.write.failures["ticket-1"] = [Throttled(300.0)]
    await box_system.boxes("a", text="number")
    await box_system.boxes("c")
    assert list((await box_system.numbers()).values()) == [1]
    assert box_system.engine.allocations.loop.idle


async def test_a_number_stays_allocated_while_an_object_of_an_earlier_process_exists(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", text="number")
    again = await BoxSystem(box_system.offline.store).begin()
    again.write.failures["ticket-1"] = [Rejected(403, "not now")]
    await again.remove("a")
    assert list((await again.numbers()).values()) == [1]
    assert again.write.log == ["delete ticket-1"]
    again.engine.objects.plan([Name("ticket", ("ticket-1",))])
    await again.offline.settle()
    assert again.write.log == ["delete ticket-1", "delete ticket-1", "free 1"]


@pytest.mark.parametrize("error", ERRORS)
async def test_an_owner_without_its_number_delays_no_other(box_system: BoxSystem, error: Failure) -> None:
    await box_system.boxes(*FIVE, text="number", settle=False)
    unlucky = (await box_system.key("box", "a")).uuid
    box_system.write.failures[unlucky] = [error] * 1000
    await box_system.offline.settle()
    await box_system.retry()
    assert len(await box_system.numbers()) == 4 and unlucky not in await box_system.numbers()
    assert [key.uuid for key in box_system.engine.states.waiting] == [unlucky]
    assert box_system.engine.allocations.loop.idle and not box_system.engine.allocations.loop.settled, (
        "it is tried again"
    )


@pytest.mark.parametrize("error", ERRORS)
async def test_a_number_that_can_not_be_freed_delays_no_other(box_system: BoxSystem, error: Failure) -> None:
    await box_system.boxes(*FIVE, text="number")
    box_system.write.failures["1"] = [error] * 1000
    await box_system.remove(*FIVE)
    await box_system.retry()
    assert list((await box_system.numbers()).values()) == [1]
    assert box_system.engine.allocations.loop.idle and not box_system.engine.allocations.loop.settled, (
        "it is tried again"
    )


async def test_a_number_that_can_not_be_freed_delays_no_request(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    box_system.write.failures["1"] = [Rejected(403, "no")] * 1000
    await box_system.remove("a")
    await box_system.boxes("b", text="number")
    assert sorted((await box_system.numbers()).values()) == [1, 2]


async def test_no_useless_request_is_sent_while_a_number_waits_for_its_release(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", text="number")
    box_system.write.failures["ticket-1"] = [Rejected(403, "not today")] * 1000
    rounds = box_system.engine.allocations.loop.runs
    await box_system.remove("a")
    box_system.engine.work_ended()
    assert box_system.engine.allocations.loop.idle
    assert box_system.engine.allocations.loop.runs == rounds


async def test_an_acknowledged_delete_releases_the_number_before_its_echo(box_system: BoxSystem) -> None:
    """In the caller's own task as in a running service."""
    await box_system.boxes("a", text="number")
    await box_system.remove("a", settle=False)
    await box_system.relist(settle=False)
    assert box_system.write.log[-1] == "delete ticket-1"
    assert not box_system.engine.allocations.loop.idle


async def test_an_allocation_granted_after_a_pause_no_longer_waits_alone(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", text="number", settle=False)
    box_system.write.failures[(await box_system.key("box", "a")).uuid] = [Throttled(0.0)]
    async with box_system.running():
        await box_system.settled()
        await until(lambda: "create ticket-1" in box_system.write.log)
        box_system.write.failures["1"] = [Throttled(300.0)]
        await box_system.remove("a", settle=False)
        await until(lambda: box_system.write.log.count("free 1") == 1)
        await until(lambda: box_system.engine.throttle.seconds > 0.0)


async def test_a_closed_engine_asks_for_no_number(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    box_system.write.failures[(await box_system.key("box", "a")).uuid] = [Rejected(403, "no")]
    await box_system.offline.settle()
    assert not box_system.engine.allocations.loop.settled
    box_system.engine.close()
    assert box_system.engine.allocations.loop.settled
