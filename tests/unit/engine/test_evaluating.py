"""Which intents are evaluated, which are answered from the memo, and the effects of a failure (docs/engine.md §3,
§4, §7)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from intentc.journal import Entry, Write
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


def referring(name: str) -> dict[str, Any]:
    return {"box_refs": [{"to": [name]}]}


async def test_who_is_only_reached_by_the_walk_is_answered_from_the_memo(plant: BoxSystem) -> None:
    await plant.boxes("b")
    await plant.boxes("a", **referring("b"))
    runs, idle = plant.engine.progress.evaluations, plant.engine.progress.idle_walks
    await plant.change("b", text="other")
    assert plant.engine.progress.evaluations == runs + 1
    assert plant.engine.progress.idle_walks == idle + 1


async def test_a_reader_that_the_map_does_not_name_runs_and_is_counted(plant: BoxSystem) -> None:
    await plant.boxes("b")
    await plant.boxes("a", text="see b")
    await plant.change("b", text="other")
    assert (await plant.contents())["a"] == "other"
    assert plant.engine.progress.missing_reactions == {("box", "box"): 1}


async def test_a_missing_reaction_is_logged_once(plant: BoxSystem, caplog: pytest.LogCaptureFixture) -> None:
    await plant.boxes("b")
    await plant.boxes("a", text="see b")
    with caplog.at_level(logging.WARNING):
        await plant.change("b", text="one")
        await plant.change("b", text="two")
    assert caplog.text.count("missing reaction: box reads box") == 1
    assert plant.engine.progress.missing_reactions == {("box", "box"): 2}


async def test_a_failed_evaluation_keeps_its_claims_is_held_and_tried_again(plant: BoxSystem) -> None:
    """F18"""
    await plant.boxes("a", "b")
    await plant.change("a", text="fail")
    key = await plant.key("box", "a")
    assert await plant.contents() == {"a": "hello", "b": "hello"}
    assert key in plant.engine.states.held
    assert key in plant.engine._scheduler._jobs.delayed()
    assert [problem.reason for problem in plant.offline.problems()] == ["EvaluationFailed"]


async def test_a_failure_that_is_fixed_leaves_nothing(plant: BoxSystem) -> None:
    await plant.boxes("a", text="fail")
    key = await plant.key("box", "a")
    await plant.change("a", text="fine")
    assert await plant.contents() == {"a": "fine"}
    assert (plant.offline.problems(), plant.engine.states.failed_evaluations(key)) == ((), 0)


async def test_a_failing_intent_that_is_deleted_leaves_nothing(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await plant.change("a", text="fail")
    key = await plant.key("box", "a")
    await plant.remove("a")
    assert await plant.contents() == {}
    assert (plant.offline.problems(), plant.engine.states.failed_evaluations(key)) == ((), 0)


async def test_an_evaluation_that_yields_the_same_plans_nothing(plant: BoxSystem) -> None:
    await plant.boxes("a")
    plant.write.log.clear()
    await plant.change("a", **referring("a"))
    assert plant.write.log == []


async def test_the_journal_says_who_was_evaluated_and_what_was_written_for_it(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    entry, write = plant.engine.journal.of(key)
    assert isinstance(entry, Entry) and isinstance(write, Write)
    assert (entry.status, entry.claims, entry.objects) == ("done", 1, (part("a"),))
    assert (write.name, write.operation) == (part("a"), "create")


async def test_a_value_that_cannot_be_read_holds_its_intent_and_nobody_else(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    key = await plant.key("box", "a")
    await plant.put(key, b"{")
    await plant.change("b", text="other")
    assert await plant.contents() == {"a": "hello", "b": "other"}
    status = engine_status(plant.engine)
    assert (status["healthy"], status["counts"]["held"]) == (False, 1)
