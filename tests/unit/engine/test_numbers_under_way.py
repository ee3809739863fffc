"""Allocations while answers are under way: none is lost, none is given twice, and a rejected one delays no other
(docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.engine.allocations import Place
from intentc.model import Name
from intentc.writing import Rejected, Throttled, UnknownOutcome, WriteError
from tests.support.box_system import BoxSystem, Gate
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

FIVE = ["a", "b", "c", "d", "e"]
ERRORS = [UnknownOutcome("cut off"), Rejected(403, "no"), Throttled(300.0)]


async def asked(plant: BoxSystem, call: str) -> Gate:
    """A gate at which this call waits by now."""
    gate = plant.write.gates[call] = Gate()
    await until(gate.entered.is_set)
    return gate


async def evaluated(plant: BoxSystem) -> None:
    """Everything in the store is applied and evaluated, though writes may be under way."""
    batches = plant.offline.store.batches
    await until(lambda: not batches("/contrail/", plant.engine.revision) and plant.engine.progress.jobs_idle)


async def test_a_number_granted_to_an_owner_that_took_to_something_else_goes_back(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    call = f"allocate {(await plant.key('box', 'a')).uuid}"
    async with plant.running():
        gate = await asked(plant, call)
        await plant.change("a", text="plain", settle=False)
        await evaluated(plant)
        gate.opened.set()
        await plant.settled()
        assert await plant.numbers() == {}
        assert await plant.contents() == {"a": "plain"}


async def test_a_number_granted_to_an_owner_that_went_goes_back(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    call = f"allocate {(await plant.key('box', 'a')).uuid}"
    async with plant.running():
        gate = await asked(plant, call)
        await plant.remove("a", settle=False)
        await evaluated(plant)
        gate.opened.set()
        await plant.settled()
        assert await plant.numbers() == {}
        assert plant.write.log == [call, "free 1"]


async def test_a_number_stays_taken_while_the_delete_of_what_carries_it_is_under_way(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    await plant.remove("a", settle=False)
    async with plant.running():
        gate = await asked(plant, "delete ticket-1")
        await plant.boxes("b", text="number", settle=False)
        await until(lambda: "create ticket-2" in plant.write.log)
        assert "free 1" not in plant.write.log
        gate.opened.set()
        await plant.settled()
        assert plant.write.log[-1] == "free 1"
        assert list((await plant.numbers()).values()) == [2]


async def test_a_number_stays_taken_while_the_creation_of_what_will_carry_it_is_under_way(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    async with plant.running():
        gate = await asked(plant, "create ticket-1")
        await plant.remove("a", settle=False)
        await evaluated(plant)
        await plant.boxes("b", text="number", settle=False)
        await until(lambda: "create ticket-2" in plant.write.log)
        assert "free 1" not in plant.write.log
        gate.opened.set()
        await plant.settled()
        assert plant.write.log[-2:] == ["delete ticket-1", "free 1"]
        assert list((await plant.numbers()).values()) == [2]


async def test_a_number_stays_taken_while_nobody_knows_whether_its_object_was_created(plant: BoxSystem) -> None:
    plant.write.failures["ticket-1"] = [Throttled(300.0)]
    await plant.boxes("a", text="number")
    await plant.boxes("c")
    assert list((await plant.numbers()).values()) == [1]
    assert plant.engine.progress.allocations_idle


async def test_a_number_stays_taken_while_the_object_that_an_earlier_process_made_is_there(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    again = await BoxSystem(plant.offline.store).begin()
    again.write.failures["ticket-1"] = [Throttled(300.0)]
    await again.remove("a")
    assert list((await again.numbers()).values()) == [1]
    assert again.write.log == ["delete ticket-1"]
    again.engine._objects.plan([Name("ticket", ("ticket-1",))])
    await again.offline.settle()
    assert again.write.log == ["delete ticket-1", "delete ticket-1", "free 1"]


@pytest.mark.parametrize("error", ERRORS)
async def test_an_owner_whose_number_is_not_granted_holds_up_nobody(plant: BoxSystem, error: WriteError) -> None:
    await plant.boxes(*FIVE, text="number", settle=False)
    unlucky = (await plant.key("box", "a")).uuid
    plant.write.failures[unlucky] = [error] * 1000
    await plant.offline.settle()
    assert len(await plant.numbers()) == 4 and unlucky not in await plant.numbers()
    assert [key.uuid for key in plant.engine.states.waiting] == [unlucky]
    assert plant.engine.progress.allocations_idle and not plant.engine.progress.allocations_settled, "it is tried again"


@pytest.mark.parametrize("error", ERRORS)
async def test_a_number_that_is_not_taken_back_holds_up_no_other(plant: BoxSystem, error: WriteError) -> None:
    await plant.boxes(*FIVE, text="number")
    plant.write.failures["1"] = [error] * 1000
    await plant.remove(*FIVE)
    assert list((await plant.numbers()).values()) == [1]
    assert plant.engine.progress.allocations_idle and not plant.engine.progress.allocations_settled, "it is tried again"


async def test_a_number_that_is_not_taken_back_holds_up_no_wish(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    plant.write.failures["1"] = [Rejected(403, "no")] * 1000
    await plant.remove("a")
    await plant.boxes("b", text="number")
    assert sorted((await plant.numbers()).values()) == [1, 2]


async def test_no_useless_request_is_sent_while_a_number_waits_for_its_release(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant.boxes("a", text="number")
    plant.write.failures["ticket-1"] = [Rejected(403, "not today")] * 1000
    rounds = 0
    serve = plant.engine._allocations.serve

    async def counted(place: Place) -> bool:
        nonlocal rounds
        rounds += 1
        assert rounds < 10, "it goes round and round"
        return await serve(place)

    monkeypatch.setattr(plant.engine._allocations, "serve", counted)
    await plant.remove("a")
    plant.engine.advance()
    assert plant.engine.progress.allocations_idle
    assert rounds == 0
