"""Deferred writes are reported with their reason until they are done, and none waits forever (docs/engine.md §6.3)."""

from __future__ import annotations

import pytest

from intentc.model import Name
from intentc.reconcile.failures import Conflict, Failure, Rejected, Throttled, UnknownOutcome
from intentc.watch.protocol import Put
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
    box_system: BoxSystem, error: Failure, words: str
) -> None:
    box_system.write.failures["a"] = [error] * FOREVER
    await box_system.boxes("a", "b")
    status = engine_status(box_system.engine)
    assert box_system.engine.quiet != bool(box_system.engine.throttle.seconds), "what waits for a pause is queued"
    assert (status["converged"], status["healthy"]) == (False, False)
    assert (status["delayed"], status["counts"]["delayed"]) == ([str(part("a"))], 1)
    (problem,) = status["problems"]
    assert (problem["name"], problem["reason"]) == ("a:one", "Delayed")
    assert words in problem["message"]


async def test_a_rejected_object_makes_it_unhealthy_while_the_rest_converges(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")] * FOREVER
    await box_system.boxes("a", "b")
    status = engine_status(box_system.engine)
    assert (status["converged"], status["healthy"]) == (True, False)
    assert (status["rejected"], status["delayed"]) == ([str(part("a"))], [])


async def test_a_rejected_object_that_is_deferred_now_counts_as_deferred(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour"), Throttled(300.0, "too many requests")]
    await box_system.boxes("a", "b")
    assert engine_status(box_system.engine)["rejected"] == [str(part("a"))]
    await box_system.retry("a")
    status = engine_status(box_system.engine)
    assert (status["rejected"], status["delayed"]) == ([], [str(part("a"))])
    assert not status["converged"]


async def test_next_to_a_rejected_object_a_deferred_one_still_counts(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")] * FOREVER
    box_system.write.failures["b"] = [Throttled(300.0)]
    await box_system.boxes("a", "b")
    assert not engine_status(box_system.engine)["converged"]
    await box_system.retry("b")
    assert engine_status(box_system.engine)["converged"]


async def test_a_deferred_number_keeps_it_from_converged(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    box_system.write.failures[(await box_system.key("box", "a")).uuid] = [UnknownOutcome("cut off")] * FOREVER
    await box_system.offline.settle()
    assert box_system.engine.quiet
    assert not engine_status(box_system.engine)["converged"]


async def test_a_deferred_write_is_no_longer_reported_once_it_is_written(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Throttled(300.0)]
    await box_system.boxes("a")
    await box_system.retry("a")
    status = engine_status(box_system.engine)
    assert (status["converged"], status["healthy"], status["delayed"], status["problems"]) == (True, True, [], [])


async def test_a_fault_while_reading_back_defers_the_object_and_never_loses_it(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(name: Name) -> None:
        raise ZeroDivisionError("a fault of our own")

    monkeypatch.setattr(box_system.offline.local, "identify", broken)
    box_system.write.failures["a"] = [UnknownOutcome("cut off")]
    await box_system.boxes("a", "b")
    assert await box_system.contents() == {"b": "hello"}
    assert part("a") in box_system.engine.objects.delayed()
    assert engine_status(box_system.engine)["delayed"] == [str(part("a"))]

    monkeypatch.undo()
    await box_system.retry("a")
    assert await box_system.contents() == {"a": "hello", "b": "hello"}
    assert engine_status(box_system.engine)["healthy"]


@pytest.mark.parametrize("error", [Rejected(422, "no such colour"), Throttled(300.0), UnknownOutcome("cut off")])
async def test_a_failed_write_that_another_writer_repaired_is_forgotten(box_system: BoxSystem, error: Failure) -> None:
    await box_system.boxes("a")
    key = await box_system.key("part", "a", "one")
    where = f"/contrail/part/{key.uuid}"
    (good,) = (await box_system.offline.store.range(where)).items
    box_system.write.failures["a"] = [error] * FOREVER
    await put(box_system, where, good.value.replace(b"hello", b"other"))
    assert not engine_status(box_system.engine)["healthy"]

    await put(box_system, where, good.value)
    await box_system.retry()
    status = engine_status(box_system.engine)
    assert (status["converged"], status["healthy"], status["problems"]) == (True, True, [])
    assert box_system.engine.objects.failures(part("a")) == 0


async def put(box_system: BoxSystem, where: str, value: bytes) -> None:
    await box_system.offline.store.transaction((), [Put(where, value)])
    await box_system.offline.settle()


async def test_a_delete_that_was_rejected_and_then_made_is_forgotten(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.write.failures["a"] = [Rejected(403, "not today")]
    await box_system.remove("a")
    assert engine_status(box_system.engine)["rejected"] == [str(part("a"))]
    await box_system.retry("a")
    assert await box_system.contents() == {}
    assert engine_status(box_system.engine)["healthy"]


async def test_conflicts_count_in_a_row_only(box_system: BoxSystem) -> None:
    for text in ("one", "two", "three"):
        box_system.write.failures["a"] = [Conflict(409, "stale"), Conflict(409, "stale")]
        await (box_system.boxes("a") if text == "one" else box_system.change("a", text=text))
        assert box_system.engine.objects.delayed() == {}
    assert await box_system.contents() == {"a": "three"}


async def test_a_lost_answer_of_a_made_write_is_no_conflict(
    box_system: BoxSystem,
) -> None:
    for text in ("one", "two", "three", "four"):
        box_system.write.lost.add("a")
        await (box_system.boxes("a") if text == "one" else box_system.change("a", text=text))
        assert box_system.engine.objects.delayed() == {}
    assert box_system.write.log == ["create a", "update a", "update a", "update a"]
