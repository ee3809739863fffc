"""Who holds the instance of a namespace (docs/gateway.md §7)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from intentc.compilers.gateway.contenders import Candidate, holder
from intentc.compilers.gateway.instance import Images, Instance, Resource

INSTANCE = Instance(layout="operator", namespace="shop", images=Images("c", "e"), contour=Resource("shop", "a"))


def candidate(name: str, created: str = "2026-01-01T00:00:00Z", **options: Any) -> Candidate:
    own = {"kind": "contour", "namespace": "shop", **options}
    return Candidate(name=name, created=created, instance=INSTANCE, **own)


def of(*candidates: Candidate) -> str:
    """The name of the holder, the same in any order."""
    found = {one.name for order in permutations(candidates) if (one := holder(order)) is not None}
    (name,) = found
    return name


def test_the_oldest_holds_it_then_the_first_by_name() -> None:
    assert of(candidate("a", "2026-01-02T00:00:00Z"), candidate("b", "2026-01-01T00:00:00Z")) == "b"
    assert of(candidate("b"), candidate("a"), candidate("c")) == "a"
    assert of(candidate("z", namespace="a"), candidate("a", namespace="z")) == "z"


def test_a_contour_holds_it_before_a_gateway_of_its_name() -> None:
    found = [candidate("a", kind="gateway_v1alpha1"), candidate("a")]
    assert [one.kind for order in (found, found[::-1]) if (one := holder(order))] == ["contour", "contour"]


def test_one_being_deleted_holds_it_only_alone() -> None:
    assert of(candidate("a", is_ending=True), candidate("b")) == "b"
    assert of(candidate("a", is_ending=True), candidate("b", is_ending=True)) == "a"


def test_one_without_its_class_holds_it_only_alone() -> None:
    assert of(candidate("a", counts=False), candidate("b")) == "b"
    assert of(candidate("a", counts=False)) == "a"
    assert of(candidate("a", counts=False), candidate("b", is_ending=True)) == "a"


def test_one_that_can_not_be_made_now_still_holds_it() -> None:
    unusable = Candidate(kind="contour", namespace="shop", name="a", fault="invalid")
    assert of(unusable, candidate("b", "2026-01-01T00:00:00Z")) == "a"


def test_without_candidates_nobody_holds_it() -> None:
    assert holder(()) is None
