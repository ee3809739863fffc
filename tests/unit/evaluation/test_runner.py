"""The outcome of a run, also of code that fails, waits or runs without end."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import AllocationRequest, Limits, Status, shared
from intentc.model import Fact, Key, Name, claimed
from tests.unit.evaluation.toy import INSTALLATION, evaluate, seen, toy_world


def test_an_intent_that_is_not_there_is_gone() -> None:
    outcome = evaluate(toy_world(), Key("box", "x"), lambda box, ctx: [])
    assert outcome.status is Status.DELETED
    assert outcome.reads == {("object", "box", "x")}


def test_an_evaluation_that_yields_nothing_is_done() -> None:
    world = toy_world()
    outcome = evaluate(world, world.put("box", "a"), lambda box, ctx: ())
    assert (outcome.status, outcome.claims, outcome.facts, outcome.problems) == (Status.DONE, (), (), ())


def test_claims_and_facts_come_in_the_order_of_yielding() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "z")
        yield Fact("sum", "s", [1, {"a": 2}])
        yield box.child("part", "a")

    outcome = evaluate(world, world.put("box", "a"), body)
    assert [claimed(claim) for claim in outcome.claims] == [Name("part", ("a", "z")), Name("part", ("a", "a"))]
    assert hash(outcome.facts[0].value)


def test_a_missing_number_is_requested_and_waited_for() -> None:
    world = toy_world()
    key = world.put("box", "a:b")

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "before")
        yield box.child("part", str(ctx.allocate("numbers", "size")))

    outcome = evaluate(world, key, body)
    owner = f"{INSTALLATION}/{key.uuid}/size"
    assert outcome.status is Status.WAITING
    assert outcome.claims == ()
    assert outcome.requests == (AllocationRequest("numbers", owner, key, "a:b"),)
    assert outcome.waiting_for == ("allocation", "numbers", owner)
    assert outcome.waiting_for in outcome.reads
    world.numbers["numbers", owner] = 5
    assert claimed(evaluate(world, key, body).claims[1]).fq_name == ("a", "b", "5")


def test_all_numbers_that_are_missing_are_requested_together() -> None:
    world = toy_world()
    key = world.put("box", "a")

    def body(box: Any, ctx: Any) -> Any:
        sizes = ctx.allocate_all(("numbers", purpose) for purpose in ("size", "depth", "weight"))
        yield from (box.child("part", str(size)) for size in sizes)

    owners = [f"{INSTALLATION}/{key.uuid}/{purpose}" for purpose in ("size", "depth", "weight")]
    world.numbers["numbers", owners[1]] = 5
    outcome = evaluate(world, key, body)
    assert outcome.status is Status.WAITING
    assert [request.owner for request in outcome.requests] == [owners[0], owners[2]]
    assert outcome.waiting_for == ("allocation", "numbers", owners[0])
    world.numbers |= {("numbers", owners[0]): 7, ("numbers", owners[2]): 3}
    assert [claimed(claim).fq_name[-1] for claim in evaluate(world, key, body).claims] == ["7", "5", "3"]


def test_waiting_for_a_name_ends_when_it_arrives() -> None:
    world = toy_world()
    key = world.put("box", "a")

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", ctx.wait_for("box", ("late",)).name)

    assert evaluate(world, key, body).waiting_for == ("name", "box", "late")
    world.put("box", "late")
    assert evaluate(world, key, body).status is Status.DONE


def test_an_intent_that_finds_its_input_unusable_is_on_hold_with_its_reason() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "before")
        yield Fact("sum", "s", 1)
        try:
            ctx.hold("the cable is cut; replace it")
        except Exception:
            yield box.child("part", "after")

    outcome = evaluate(world, world.put("box", "a"), body)
    assert (outcome.status, outcome.claims, outcome.facts) == (Status.ON_HOLD, (), ())
    (problem,) = outcome.problems
    assert (problem.name, problem.reason, problem.message) == ("a", "OnHold", "the cable is cut; replace it")


def test_waiting_cannot_be_swallowed() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        try:
            ctx.allocate("numbers", "size")
        except Exception:
            yield box.child("part", "without number")

    assert evaluate(world, world.put("box", "a"), body).status is Status.WAITING


def test_a_held_input_holds_its_reader() -> None:
    world = toy_world()
    unreadable = world.put("box", "b")
    key = world.put("box", "a")
    world.held.add(unreadable)
    outcome = evaluate(world, key, lambda box, ctx: [box.child("part", str(ctx.find("box", ("b",)).size))])
    assert outcome.status is Status.HELD
    assert outcome.waiting_for == ("object", "box", unreadable.uuid)
    assert outcome.waiting_for in outcome.reads


def test_an_intent_that_cannot_be_read_itself_is_held() -> None:
    world = toy_world()
    key = world.put("box", "a")
    world.held.add(key)
    assert evaluate(world, key, lambda box, ctx: ()).status is Status.HELD


def test_an_exception_fails_the_intent_with_its_name_and_place() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        ctx.problem("Odd", "reported before")
        yield box.child("part", "half")
        raise KeyError("colour")

    outcome = evaluate(world, world.put("box", "a:b"), body)
    assert (outcome.status, outcome.claims) == (Status.FAILED, ())
    reported, failed = outcome.problems
    assert reported.reason == "Odd"
    assert (failed.kind, failed.name, failed.reason) == ("box", "a:b", "EvaluationFailed")
    assert "KeyError: 'colour' (test_runner.py:" in failed.message
    assert failed.source.endswith("@1")


def test_an_exception_has_the_authors_frames_and_its_causes() -> None:
    world = toy_world()

    def inner() -> None:
        try:
            int("seven")
        except ValueError as error:
            raise KeyError("colour") from error

    def body(box: Any, ctx: Any) -> Any:
        inner()

    (failed,) = evaluate(world, world.put("box", "a"), body).problems
    first = inner.__code__.co_firstlineno
    called, raised, caused, cause, last = failed.trace[-5:]
    assert called == f'File "{__file__}", line {body.__code__.co_firstlineno + 1}, in body'
    assert raised == f'File "{__file__}", line {first + 4}, in inner'
    assert (caused, cause) == ("caused by ValueError:", f'File "{__file__}", line {first + 2}, in inner')
    assert last.startswith("KeyError: 'colour' (test_runner.py:")
    assert not any("/intentc/evaluation/" in line for line in failed.trace)


def test_the_frames_of_a_recursion_are_bounded() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        body(box, ctx)

    (failed,) = evaluate(world, world.put("box", "a"), body).problems
    assert len(failed.trace) < 20
    assert any(line.endswith("more frames …") for line in failed.trace)


@pytest.mark.parametrize("error", [SystemExit(1), RecursionError("deep"), MemoryError(), StopIteration()])
def test_nothing_that_is_raised_gets_past_the_runner(error: Any) -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        raise error

    assert evaluate(world, world.put("box", "a"), body).status is Status.FAILED


def test_no_more_objects_than_the_limit() -> None:
    world = toy_world()
    key = world.put("box", "a")
    outcome = evaluate(world, key, lambda box, ctx: (box.child("part", str(i)) for i in range(4)), Limits(objects=3))
    assert (outcome.status, outcome.problems[0].reason) == (Status.FAILED, "LimitExceeded")
    assert "more than 3 objects" in outcome.problems[0].message


def test_no_more_bytes_than_the_limit() -> None:
    world = toy_world()
    key = world.put("box", "a")
    outcome = evaluate(world, key, lambda box, ctx: [box.child("part", "p", name_of="x" * 2000)], Limits(size=1000))
    assert "more than 1,000 bytes" in outcome.problems[0].message


def test_no_more_reads_than_the_limit_even_if_the_rejection_is_swallowed() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        for number in range(20):
            try:
                ctx.get("part", str(number))
            except Exception:
                break
        yield box.child("part", "p")

    outcome = evaluate(world, world.put("box", "a"), body, Limits(reads=10))
    assert (outcome.status, outcome.problems[0].reason) == (Status.FAILED, "LimitExceeded")


def test_problems_of_a_run_name_its_resource() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        ctx.problem("Odd", "colour is odd")
        return ()

    (problem,) = evaluate(world, world.put("box", "a:b"), body).problems
    assert (problem.kind, problem.name, problem.reason, problem.message) == ("box", "a:b", "Odd", "colour is odd")


def test_a_fact_is_an_intent_that_lives_while_somebody_yields_it() -> None:
    world = toy_world()
    key = Key("sum", "s")

    def body(fact: Any, ctx: Any) -> Any:
        yield shared("sticker", (f"{fact.name}-{sum(v for _, v in ctx.contributions('sum', fact.name))}",))

    assert evaluate(world, key, body).status is Status.DELETED
    world.facts["sum", "s"] = {Key("box", "1"): 2, Key("box", "2"): 3}
    outcome = evaluate(world, key, body)
    assert claimed(outcome.claims[0]).fq_name == ("s-5",)
    assert outcome.reads == {("fact", "sum", "s"), ("presence", "sum", "s")}


def test_that_anybody_yields_a_fact_is_a_read_of_its_own() -> None:
    world = toy_world()
    key = world.put("box", "a")
    assert seen(world, key, lambda box, ctx: ctx.contributed("sum", "s")) is False
    world.facts["sum", "s"] = {Key("box", "1"): 2}
    assert seen(world, key, lambda box, ctx: ctx.contributed("sum", "s")) is True


def test_a_problem_may_be_on_another_resource_and_is_reported_once() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        for _ in range(2):
            ctx.problem_on("lid", "b:c", "Loose", "it does not fit")
        return ()

    (problem,) = evaluate(world, world.put("box", "a"), body).problems
    assert (problem.kind, problem.name, problem.reason, problem.message) == ("lid", "b:c", "Loose", "it does not fit")


def test_contributors_that_disagree_on_a_fact_are_a_problem() -> None:
    world = toy_world()
    world.facts["sum", "s"] = {Key("box", "1"): 2, Key("box", "2"): 3}
    key = world.put("box", "a")
    assert seen(world, key, lambda box, ctx: ctx.fact("sum", "s")) == 2

    def body(box: Any, ctx: Any) -> Any:
        ctx.fact("sum", "s")
        return ()

    (problem,) = evaluate(world, key, body).problems
    assert problem.reason == "ContradictingFacts"
    assert "box/1, box/2" in problem.message


def test_the_same_world_gives_the_same_outcome() -> None:
    world = toy_world()
    key = world.put("box", "a", weight={"grams": 3})

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "p", weight={"grams": box.weight.grams, "tags": {"b", "a", "c"}})

    assert evaluate(world, key, body) == evaluate(world, key, body)
