"""Unclaimed objects of ours are deleted after the first complete pass, never before (docs/engine.md §5.7)."""

from __future__ import annotations

import pytest

from intentc.engine.state_tables import StateTables
from intentc.evaluation import Status
from intentc.model import Key, Name, Problem
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

KEY = Key("box", "1")
OBJECT = Name("part", ("a", "one"))
PROBLEM = Problem("box", "a", "Odd", "it is odd")


async def test_leftovers_of_a_deleted_owner_are_deleted_after_the_first_pass(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    await box_system.offline.server.delete(await box_system.key("box", "a"))
    again = BoxSystem(box_system.offline.store)
    await again.offline.settle()
    assert again.engine.first_pass_complete
    assert again.write.log == ["delete a"]
    assert await again.contents() == {"b": "hello"}


async def test_the_objects_of_an_origin_are_the_stored_objects_with_its_mark(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    origin = (await box_system.key("box", "a")).uuid
    assert box_system.engine._marked.marks.of(origin) == {part("a")}
    await box_system.remove("a")
    assert box_system.engine._marked.marks.of(origin) == frozenset()


async def test_an_origin_without_any_intent_is_absent(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    assert box_system.engine._logic.has_intent(key.uuid)
    await box_system.remove("a")
    assert not box_system.engine._logic.has_intent(key.uuid)


async def test_the_report_shows_converged_and_counts(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    status = engine_status(box_system.engine)
    assert (status["converged"], status["healthy"], status["first_pass_complete"]) == (True, True, True)
    assert status["counts"]["evaluated"] == 2
    assert status["counters"]["writes"] == 2
    assert status["queue"] == {"jobs": 0, "objects": 0, "in_flight": 0}


async def test_an_observer_reports_what_it_would_write(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    observer = BoxSystem(box_system.offline.store, observe=True)
    await observer.offline.settle()
    assert observer.write.log == []
    assert engine_status(observer.engine)["planned"] == [{"object": str(part("a")), "writes": ["create"]}]


def test_a_failed_intent_is_held_until_a_run_succeeds() -> None:
    states = StateTables()
    assert states.note(KEY, Status.FAILED, None, (PROBLEM,))
    assert not states.note(KEY, Status.FAILED, None, (PROBLEM,))  # no news
    assert states.is_held(KEY)
    states.note(KEY, Status.DONE, None, ())
    assert not states.is_held(KEY)
    assert states.problems() == ()


def test_a_waiting_intent_keeps_its_outputs_and_is_no_problem() -> None:
    states = StateTables()
    states.note(KEY, Status.WAITING, ("name", "box", "b"), ())
    assert states.is_held(KEY)
    assert states.waiting == {KEY: ("name", "box", "b")}
    assert states.problems() == ()


def test_a_problem_of_several_claims_is_reported_once() -> None:
    states = StateTables()
    states.note_object(OBJECT, (PROBLEM,), frozenset())
    states.note_object(Name("part", ("b", "one")), (PROBLEM,), frozenset())
    assert states.problems([PROBLEM]) == (PROBLEM,)
    states.forget(KEY)
    states.note_object(OBJECT, (), frozenset())
    assert states.problems() == (PROBLEM,)
