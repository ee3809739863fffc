"""Who holds the instance of a namespace (docs/gateway.md §7)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from intentc.compilers.gateway.holder import Candidate, holder
from intentc.compilers.gateway.instance import Images, Instance, Resource

INSTANCE = Instance(layout="operator", namespace="shop", images=Images("c", "e"), contour=Resource("shop", "a"))


def candidate(name: str, created: str = "2026-01-01T00:00:00Z", **options: Any) -> Candidate:
    return Candidate(kind="contour", namespace="shop", name=name, created=created, instance=INSTANCE, **options)


def of(*candidates: Candidate) -> str:
    """The name of the holder, the same in any order."""
    found = {one.name for order in permutations(candidates) if (one := holder(order)) is not None}
    (name,) = found
    return name


def test_the_oldest_holds_it_and_of_one_age_the_first_by_name() -> None:
    assert of(candidate("a", "2026-01-02T00:00:00Z"), candidate("b", "2026-01-01T00:00:00Z")) == "b"
    assert of(candidate("b"), candidate("a"), candidate("c")) == "a"


def test_one_that_is_being_deleted_holds_it_only_if_there_is_no_other() -> None:
    assert of(candidate("a", is_ending=True), candidate("b")) == "b"
    assert of(candidate("a", is_ending=True), candidate("b", is_ending=True)) == "a"


def test_one_whose_class_is_missing_holds_it_only_if_there_is_no_other() -> None:
    assert of(candidate("a", counts=False), candidate("b")) == "b"
    assert of(candidate("a", counts=False)) == "a"
    assert of(candidate("a", counts=False), candidate("b", is_ending=True)) == "a"


def test_one_that_can_not_be_made_now_still_holds_it() -> None:
    unusable = Candidate(kind="contour", namespace="shop", name="a", fault="invalid")
    assert of(unusable, candidate("b", "2026-01-01T00:00:00Z")) == "a"


def test_without_candidates_nobody_holds_it() -> None:
    assert holder(()) is None
