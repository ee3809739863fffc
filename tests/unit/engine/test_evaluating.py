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


async def test_an_intent_that_only_the_walk_reaches_is_answered_from_its_memo(box_system: BoxSystem) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", **referring("b"))
    runs, idle = box_system.engine.evaluator.runs, box_system.engine.evaluator.idle_walks
    await box_system.change("b", text="other")
    assert box_system.engine.evaluator.runs == runs + 1
    assert box_system.engine.evaluator.idle_walks == idle + 1


async def test_a_reader_that_the_map_does_not_name_runs_and_is_counted(box_system: BoxSystem) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b")
    await box_system.change("b", text="other")
    assert (await box_system.contents())["a"] == "other"
    assert box_system.engine.evaluator.missing_reactions == {("box", "box"): 1}


async def test_a_missing_reaction_is_logged_once(box_system: BoxSystem, caplog: pytest.LogCaptureFixture) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b")
    with caplog.at_level(logging.WARNING):
        await box_system.change("b", text="one")
        await box_system.change("b", text="two")
    assert caplog.text.count("missing reaction: box reads box") == 1
    assert box_system.engine.evaluator.missing_reactions == {("box", "box"): 2}


async def test_a_failed_evaluation_keeps_its_claims_is_held_and_tried_again(box_system: BoxSystem) -> None:
    """F18"""
    await box_system.boxes("a", "b")
    await box_system.change("a", text="fail")
    key = await box_system.key("box", "a")
    assert await box_system.contents() == {"a": "hello", "b": "hello"}
    assert key in box_system.engine.states.held
    assert key in box_system.engine.jobs.delayed()
    assert [problem.reason for problem in box_system.offline.problems()] == ["EvaluationFailed"]


async def test_a_failure_that_is_fixed_leaves_nothing(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="fail")
    key = await box_system.key("box", "a")
    await box_system.change("a", text="fine")
    assert await box_system.contents() == {"a": "fine"}
    assert (box_system.offline.problems(), box_system.engine.jobs.failures(key)) == ((), 0)


async def test_a_failing_intent_that_is_deleted_leaves_nothing(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="fail")
    key = await box_system.key("box", "a")
    await box_system.remove("a")
    assert await box_system.contents() == {}
    assert (box_system.offline.problems(), box_system.engine.jobs.failures(key)) == ((), 0)


async def test_an_evaluation_that_yields_the_same_plans_nothing(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.write.log.clear()
    await box_system.change("a", **referring("a"))
    assert box_system.write.log == []


async def test_the_journal_says_who_was_evaluated_and_what_was_written_for_it(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    entry, write = box_system.engine.journal.of(key)
    assert isinstance(entry, Entry) and isinstance(write, Write)
    assert (entry.status, entry.claims, entry.objects) == ("done", 1, (part("a"),))
    assert (write.name, write.operation) == (part("a"), "create")


async def test_a_value_that_cannot_be_read_holds_its_intent_and_nobody_else(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    key = await box_system.key("box", "a")
    await box_system.put(key, b"{")
    await box_system.change("b", text="other")
    assert await box_system.contents() == {"a": "hello", "b": "other"}
    status = engine_status(box_system.engine)
    assert (status["healthy"], status["counts"]["held"]) == (False, 1)
