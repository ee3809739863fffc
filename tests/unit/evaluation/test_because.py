"""Reasons for the parts of an object are recorded on request, and only then (docs/adr/0015)."""

from __future__ import annotations

import time
from typing import Any

from intentc import Source
from intentc.evaluation import Budget, Status, assign, refer
from intentc.model import Name, Reason, claimed
from tests.unit.evaluation.toy import evaluate, runner, toy_world

PART = Name("part", ("a", "p"))


def giving_reasons(box: Any, ctx: Any) -> Any:
    part = box.child("part", "p", weights=[{"grams": 1}])
    yield part
    ctx.because(part, Source.of(box, "weight"), part="weights[0]")
    ctx.because(part, Source.of(box, "label"), Source("box", "b"), part="weights[0]")


def test_an_explanation_has_each_reason_in_the_order_given() -> None:
    world = toy_world()
    explained = runner(world, "box", giving_reasons).explain(world.put("box", "a"))
    assert explained.reasons == {
        PART: (
            Reason("weights[0]", (Source("box", "a", "weight"),)),
            Reason("weights[0]", (Source("box", "a", "label"), Source("box", "b"))),
        )
    }


def test_an_ordinary_run_notes_nothing_and_yields_the_same() -> None:
    world = toy_world()
    key = world.put("box", "a")
    explaining: list[bool] = []

    def body(box: Any, ctx: Any) -> Any:
        yield from giving_reasons(box, ctx)
        explaining.append(ctx.explaining)

    run = runner(world, "box", body)
    assert run.explain(key).outcome.claims == run.run(key).claims
    assert explaining == [True, False]


def test_a_reason_given_twice_is_kept_once() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield from giving_reasons(box, ctx)
        yield from giving_reasons(box, ctx)

    assert len(runner(world, "box", body).explain(world.put("box", "a")).reasons[PART]) == 2


def test_a_reference_is_a_part_of_its_holder() -> None:
    world = toy_world()
    world.put("sticker", "b")

    def body(box: Any, ctx: Any) -> Any:
        part = box.child("part", "p")
        reference = refer(part, ctx.find("sticker", ("b",)))
        yield part
        yield reference
        ctx.because(reference, Source.of(box, "size"))

    explained = runner(world, "box", body).explain(world.put("box", "a"))
    assert explained.reasons == {PART: (Reason("sticker_refs[b]", (Source("box", "a", "size"),)),)}


def test_a_property_claimed_alone_is_a_part_of_its_holder() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        total = assign(box, "total", 3)
        yield total
        ctx.because(total, Source.of(box, "size"))

    explained = runner(world, "box", body).explain(world.put("box", "a"))
    assert explained.reasons == {Name("box", ("a",)): (Reason("total", (Source("box", "a", "size"),)),)}


def test_a_run_that_waits_shows_what_it_had_begun() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield from giving_reasons(box, ctx)
        yield box.child("part", str(ctx.allocate("numbers", "size")))

    explained = runner(world, "box", body).explain(world.put("box", "a"))
    assert explained.outcome.status is Status.WAITING
    assert explained.outcome.claims == ()
    assert [claimed(claim) for claim in explained.begun] == [PART]
    assert PART in explained.reasons


def test_a_run_that_fails_while_it_is_asked_is_an_outcome() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "p")
        raise ValueError("no")

    key = world.put("box", "a")
    assert runner(world, "box", body).explain(key).outcome.status is Status.FAILED
    assert evaluate(world, key, body).status is Status.FAILED


def test_what_is_no_source_is_reported_as_the_authors_mistake() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        part = box.child("part", "p")
        yield part
        ctx.because(part, "the box")

    explained = runner(world, "box", body).explain(world.put("box", "a"))
    assert explained.outcome.status is Status.FAILED
    assert "because takes a claim, Sources" in explained.outcome.problems[-1].message


def test_endless_reasons_are_cut_off_and_not_requested_until_the_next_run() -> None:
    world = toy_world()
    asked: list[bool] = []

    def body(box: Any, ctx: Any) -> Any:
        asked.append(ctx.explaining)
        part = box.child("part", "p")
        yield part
        number = 0
        while ctx.explaining:
            ctx.because(part, Source.of(box), part=f"weights[{number}]")
            number += 1

    key = world.put("box", "a")
    run = runner(world, "box", body)
    first, second = run.explain(key), run.explain(key)
    assert first.outcome.status is Status.FAILED
    assert first.outcome.problems[-1].reason == "LimitExceeded"
    assert second.outcome == first.outcome
    assert asked == [True]
    run.run(key)
    run.explain(key)
    assert asked == [True, False, True]


def test_an_intent_that_is_slow_only_when_explaining_is_interrupted_soon() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "p")
        while ctx.explaining:
            pass

    budget = Budget()
    key = world.put("box", "a")
    with budget.enforced(tick=0.01):
        began = time.thread_time()
        explained = runner(world, "box", body, budget=budget).explain(key)
        took = time.thread_time() - began
    assert explained.outcome.problems[-1].reason == "BudgetExceeded"
    assert took < 1.0, "of the second of CPU time that an ordinary run has"


def test_a_failed_explanation_is_reported_until_the_next_run() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "p")
        if ctx.explaining:
            raise ValueError("no")

    key = world.put("box", "a")
    run = runner(world, "box", body)
    assert run.failed_explanation(key) is None
    run.explain(key)
    problem = run.failed_explanation(key)
    assert problem is not None
    assert (problem.kind, problem.name, problem.reason) == ("box", "a", "ReasonsUnavailable")
    assert "ValueError: no" in problem.message
    run.run(key)
    assert run.failed_explanation(key) is None
