"""An intent whose resource is being deleted makes nothing more, and its finalizers are checked (docs/engine.md §14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from intentc.evaluation import Intent, Outcome, Runner, Status, finalizer
from intentc.model import FinalizerClaim, Key, Name, Schema
from intentc.model.reads import metadata_read
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable
from tests.support.naive_world import NaiveWorld

FINALIZER = "example.com/farm"
FARM = Key("farm", "f-1")
SCHEMA = Schema(
    build_kind(msgspec.convert({"group": "example.com", **declared}, KindSpec), TypeTable({}), "toy")
    for declared in (
        {"kind": "farm", "shape": "kubernetes", "properties": {"crops": "string"}},
        {"kind": "plan", "properties": {"crops": {"type": "string", "writer": "compiler"}}},
        {"kind": "harvest", "stored": False},
    )
)


def run(evaluate: Callable[[Any, Any], Iterable[Any]], *, ending: bool = True, in_order: bool = True) -> Outcome:
    """The outcome of one evaluation of a farm."""
    intent = type("FarmIntent", (Intent,), {"kind": "farm", "evaluate": evaluate})
    world = NaiveWorld(SCHEMA)
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER]} if ending else {}
    world.store("farm", {"uuid": FARM.uuid, "fq_name": ["valley", "north"], "crops": "rye", "metadata": metadata})
    kinds = ("farm",) if in_order else ()
    runner = Runner(SCHEMA, {"farm": intent}, world, installation="test", finalizers=[FINALIZER], kinds_in_order=kinds)
    return runner.run(FARM)


def plan(self: Any, ctx: Any) -> Iterable[Any]:
    yield finalizer(self, FINALIZER)
    yield self.owned("plan", ("north",), crops=self.crops)


CLAIM = FinalizerClaim(Name("farm", ("valley", "north")), FINALIZER)


def test_what_it_makes_is_left_out_and_its_finalizers_stay() -> None:
    outcome = run(plan)
    assert (outcome.status, outcome.claims) == (Status.DONE, (CLAIM,))


def test_an_intent_whose_resource_is_not_deleted_is_woken_by_its_deletion() -> None:
    outcome = run(plan, ending=False)
    assert [claim for claim in outcome.claims if claim != CLAIM]
    assert metadata_read(FARM, "deletionTimestamp") in outcome.reads


def test_compilers_without_finalizers_go_on_until_the_resource_is_gone() -> None:
    outcome = run(plan, in_order=False)
    assert len(outcome.claims) == 2
    assert metadata_read(FARM, "deletionTimestamp") not in outcome.reads


def fails(self: Any, ctx: Any) -> Iterable[Any]:
    yield from plan(self, ctx)
    raise RuntimeError("as the test asked for")


def holds(self: Any, ctx: Any) -> Iterable[Any]:
    yield from plan(self, ctx)
    ctx.hold("its crops are none")


def waits(self: Any, ctx: Any) -> Iterable[Any]:
    yield from plan(self, ctx)
    ctx.wait_for("plan", ("south",))


@pytest.mark.parametrize(("evaluate", "reasons"), [(fails, ["EvaluationFailed"]), (holds, ["OnHold"]), (waits, [])])
def test_an_incomplete_evaluation_delays_no_end(evaluate: Any, reasons: list[str]) -> None:
    outcome = run(evaluate)
    assert (outcome.status, outcome.claims) == (Status.ENDING, (CLAIM,))
    assert [problem.reason for problem in outcome.problems] == reasons
    assert run(evaluate, ending=False).status is not Status.ENDING


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (finalizer(Name("plan", ("north",)), FINALIZER), "plan north can't have finalizers"),
        (finalizer(Name("farm", ("valley", "north")), "example.com/f"), "'example.com/f' is not declared by Compiler"),
    ],
)
def test_a_finalizer_that_nobody_could_remove_is_an_error(claim: FinalizerClaim, words: str) -> None:
    outcome = run(lambda self, ctx: [claim], ending=False)
    assert outcome.status is Status.FAILED
    assert words in outcome.problems[-1].message
