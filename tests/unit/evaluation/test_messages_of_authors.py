"""What an author's messages may contain: nothing that the schema declares sensitive, and no whole bodies."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import Outcome, Status
from tests.unit.evaluation.toy import evaluate, toy_world

CANARY = 'ca"na\nry-1'


def message_of(outcome: Outcome) -> str:
    assert outcome.problems
    return " ".join(problem.message for problem in outcome.problems)


@pytest.mark.parametrize("show", [str, repr, lambda text: {"key": text}, lambda text: f"key={text}!"])
def test_an_exception_does_not_show_a_sensitive_field(show: Any) -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        raise ValueError(show(box.pin))

    outcome = evaluate(world, world.put("box", "a", pin=CANARY), body)
    assert outcome.status is Status.FAILED
    assert message_of(outcome).startswith("Body: ValueError: ")
    assert "<secret>" in message_of(outcome)
    assert "ry-1" not in message_of(outcome)


def test_a_problem_does_not_show_a_sensitive_field_of_another_object() -> None:
    world = toy_world()
    other = world.put("box", "b", pin="canary-2")

    def body(box: Any, ctx: Any) -> Any:
        ctx.problem("Odd", "the other one has " + ctx.find("box", ("b",)).pin)
        return ()

    assert other is not None
    outcome = evaluate(world, world.put("box", "a"), body)
    assert message_of(outcome) == "the other one has <secret>"


def test_a_sensitive_attribute_of_a_reference_is_not_shown() -> None:
    world = toy_world()
    world.put("box", "b")
    key = world.put("box", "a", box_refs=[{"to": ["b"], "attr": {"code": "canary-3"}}])

    def body(box: Any, ctx: Any) -> Any:
        ((_, attribute),) = box.reference_attributes("box")
        raise RuntimeError(attribute)

    outcome = evaluate(world, key, body)
    assert "<secret>" in message_of(outcome)
    assert "canary" not in message_of(outcome)


def test_a_long_exception_message_is_cut_off_and_still_shows_its_line() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        raise KeyError("x" * 10_000)

    message = message_of(evaluate(world, world.put("box", "a"), body))
    assert "…" in message and "test_messages_of_authors.py:" in message
    assert len(message) < 300


def test_a_secret_is_taken_out_before_a_message_is_cut_off() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        raise ValueError("x" * 180 + box.pin)

    message = message_of(evaluate(world, world.put("box", "a", pin="canary-" * 20), body))
    assert "canary" not in message
