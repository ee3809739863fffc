"""Unclaimed objects of ours are deleted after the first complete pass, never before (docs/engine.md §5.7)."""

from __future__ import annotations

import pytest

from intentc.engine.intent_states import IntentStates
from intentc.evaluation import Status
from intentc.model import Key, Name, Problem
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

KEY = Key("box", "1")
OBJECT = Name("part", ("a", "one"))
PROBLEM = Problem("box", "a", "Odd", "it is odd")


async def test_what_an_owner_left_behind_is_deleted_after_the_first_pass(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    await plant.offline.server.delete(await plant.key("box", "a"))
    again = BoxSystem(plant.offline.store)
    await again.offline.settle()
    assert again.engine.first_pass_complete
    assert again.write.log == ["delete a"]
    assert await again.contents() == {"b": "hello"}


async def test_the_carriers_of_an_origin_are_the_stored_objects_with_its_mark(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    origin = (await plant.key("box", "a")).uuid
    assert plant.engine._carriers.of(origin) == {part("a")}
    await plant.remove("a")
    assert plant.engine._carriers.of(origin) == frozenset()


async def test_an_origin_without_any_intent_is_absent(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    assert plant.engine._logic.has_intent(key.uuid)
    await plant.remove("a")
    assert not plant.engine._logic.has_intent(key.uuid)


async def test_the_report_shows_converged_and_counts(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    status = engine_status(plant.engine)
    assert (status["converged"], status["healthy"], status["first_pass_complete"]) == (True, True, True)
    assert status["counts"]["evaluated"] == 2
    assert status["counters"]["writes"] == 2
    assert status["queue"] == {"jobs": 0, "objects": 0, "in_flight": 0}


async def test_an_observer_reports_what_it_would_write(plant: BoxSystem) -> None:
    await plant.boxes("a", settle=False)
    observer = BoxSystem(plant.offline.store, observe=True)
    await observer.offline.settle()
    assert observer.write.log == []
    assert engine_status(observer.engine)["planned"] == [{"object": str(part("a")), "writes": ["create"]}]


def test_a_failed_intent_is_held_until_a_run_succeeds() -> None:
    states = IntentStates()
    assert states.note(KEY, Status.FAILED, None, (PROBLEM,))
    assert not states.note(KEY, Status.FAILED, None, (PROBLEM,))  # no news
    assert states.is_held(KEY)
    states.note(KEY, Status.DONE, None, ())
    assert not states.is_held(KEY)
    assert states.problems() == ()


def test_a_waiting_intent_keeps_its_outputs_and_is_no_problem() -> None:
    states = IntentStates()
    states.note(KEY, Status.WAITING, ("name", "box", "b"), ())
    assert states.is_held(KEY)
    assert states.waiting == {KEY: ("name", "box", "b")}
    assert states.problems() == ()


def test_a_problem_of_several_claims_is_reported_once() -> None:
    states = IntentStates()
    states.note_object(OBJECT, (PROBLEM,), frozenset())
    states.note_object(Name("part", ("b", "one")), (PROBLEM,), frozenset())
    assert states.problems([PROBLEM]) == (PROBLEM,)
    states.forget(KEY)
    states.note_object(OBJECT, (), frozenset())
    assert states.problems() == (PROBLEM,)
