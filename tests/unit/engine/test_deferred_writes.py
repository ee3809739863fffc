"""Deferred writes are reported with their reason until they are done, and none waits forever (docs/engine.md §6.3)."""

from __future__ import annotations

import pytest

from intentc.model import Name
from intentc.watch.protocol import Put
from intentc.writing import Conflict, Rejected, Throttled, UnknownOutcome, WriteError
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

FOREVER = 1000


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UnknownOutcome("cut off"), "cut off"),
        (Conflict(409, "stale"), "stale"),
        (Throttled(300.0, "too many requests"), "too many requests"),
    ],
)
async def test_a_deferred_write_is_reported_and_neither_converged_nor_healthy(
    plant: BoxSystem, error: WriteError, words: str
) -> None:
    plant.write.failures["a"] = [error] * FOREVER
    await plant.boxes("a", "b")
    status = engine_status(plant.engine)
    assert plant.engine.quiet
    assert (status["converged"], status["healthy"]) == (False, False)
    assert (status["delayed"], status["counts"]["delayed"]) == ([str(part("a"))], 1)
    (problem,) = status["problems"]
    assert (problem["name"], problem["reason"]) == ("a:one", "Delayed")
    assert words in problem["message"]


async def test_a_rejected_object_is_reported_and_not_healthy_but_all_else_has_converged(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Rejected(422, "no such colour")] * FOREVER
    await plant.boxes("a", "b")
    status = engine_status(plant.engine)
    assert (status["converged"], status["healthy"]) == (True, False)
    assert (status["refused"], status["delayed"]) == ([str(part("a"))], [])


async def test_a_rejected_object_that_is_deferred_now_counts_as_deferred(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Rejected(422, "no such colour"), Throttled(300.0, "too many requests")]
    await plant.boxes("a", "b")
    assert engine_status(plant.engine)["refused"] == [str(part("a"))]
    await plant.retry("a")
    status = engine_status(plant.engine)
    assert (status["refused"], status["delayed"]) == ([], [str(part("a"))])
    assert not status["converged"]


async def test_next_to_a_rejected_object_a_deferred_one_still_counts(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Rejected(422, "no such colour")] * FOREVER
    plant.write.failures["b"] = [Throttled(300.0)]
    await plant.boxes("a", "b")
    assert not engine_status(plant.engine)["converged"]
    await plant.retry("b")
    assert engine_status(plant.engine)["converged"]


async def test_a_deferred_number_keeps_it_from_converged(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    plant.write.failures[(await plant.key("box", "a")).uuid] = [UnknownOutcome("cut off")] * FOREVER
    await plant.offline.settle()
    assert plant.engine.quiet
    assert not engine_status(plant.engine)["converged"]


async def test_a_deferred_write_is_no_longer_reported_once_it_is_written(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Throttled(300.0)]
    await plant.boxes("a")
    await plant.retry("a")
    status = engine_status(plant.engine)
    assert (status["converged"], status["healthy"], status["delayed"], status["problems"]) == (True, True, [], [])


async def test_a_fault_while_reading_back_defers_the_object_and_never_loses_it(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(name: Name) -> None:
        raise ZeroDivisionError("a fault of our own")

    monkeypatch.setattr(plant.offline.local, "identify", broken)
    plant.write.failures["a"] = [UnknownOutcome("cut off")]
    await plant.boxes("a", "b")
    assert await plant.contents() == {"b": "hello"}
    assert part("a") in plant.engine._objects.delayed
    assert engine_status(plant.engine)["delayed"] == [str(part("a"))]

    monkeypatch.undo()
    await plant.retry("a")
    assert await plant.contents() == {"a": "hello", "b": "hello"}
    assert engine_status(plant.engine)["healthy"]


@pytest.mark.parametrize("error", [Rejected(422, "no such colour"), Throttled(300.0), UnknownOutcome("cut off")])
async def test_what_another_writer_repaired_is_neither_reported_nor_remembered_as_failed(
    plant: BoxSystem, error: WriteError
) -> None:
    await plant.boxes("a")
    key = await plant.key("part", "a", "one")
    where = f"/contrail/part/{key.uuid}"
    (good,) = (await plant.offline.store.range(where)).items
    plant.write.failures["a"] = [error] * FOREVER
    await put(plant, where, good.value.replace(b"hello", b"other"))
    assert not engine_status(plant.engine)["healthy"]

    await put(plant, where, good.value)
    status = engine_status(plant.engine)
    assert (status["converged"], status["healthy"], status["problems"]) == (True, True, [])
    assert plant.engine.states.failed_writes(part("a")) == 0


async def put(plant: BoxSystem, where: str, value: bytes) -> None:
    await plant.offline.store.transaction((), [Put(where, value)])
    await plant.offline.settle()


async def test_a_delete_that_was_refused_and_then_made_is_forgotten(plant: BoxSystem) -> None:
    await plant.boxes("a")
    plant.write.failures["a"] = [Rejected(403, "not today")]
    await plant.remove("a")
    assert engine_status(plant.engine)["refused"] == [str(part("a"))]
    await plant.retry("a")
    assert await plant.contents() == {}
    assert engine_status(plant.engine)["healthy"]


async def test_conflicts_count_in_a_row_only(plant: BoxSystem) -> None:
    for text in ("one", "two", "three"):
        plant.write.failures["a"] = [Conflict(409, "stale"), Conflict(409, "stale")]
        await (plant.boxes("a") if text == "one" else plant.change("a", text=text))
        assert plant.engine._objects.delayed == set()
    assert await plant.contents() == {"a": "three"}


async def test_a_lost_answer_whose_write_was_made_does_not_count_as_a_conflict_of_the_next_one(
    plant: BoxSystem,
) -> None:
    for text in ("one", "two", "three", "four"):
        plant.write.lost.add("a")
        await (plant.boxes("a") if text == "one" else plant.change("a", text=text))
        assert plant.engine._objects.delayed == set()
    assert plant.write.log == ["create a", "update a", "update a", "update a"]
