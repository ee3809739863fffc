"""Which of several instances has an object whose name they all want (docs/gateway.md §12)."""

from __future__ import annotations

from itertools import permutations

from intentc.compilers.gateway.contenders import Candidate, Contender, of_holder

OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def first_of(*contenders: Contender) -> str:
    """The namespace and name of the one that has the object, the same in any order."""
    found = {(min(order).namespace, min(order).name) for order in permutations(contenders)}
    ((namespace, name),) = found
    return f"{namespace}/{name}"


def test_the_oldest_has_it_then_the_first_by_name() -> None:
    assert first_of(Contender(NEW, "a", "a", "Gateway"), Contender(OLD, "z", "z", "Gateway")) == "z/z"
    assert first_of(Contender(OLD, "a-b", "c", "Gateway"), Contender(OLD, "a", "b-c", "Gateway")) == "a/b-c"
    assert first_of(Contender(OLD, "a", "c", "Gateway"), Contender(OLD, "a", "b", "Contour", "x")) == "a/b"


def test_the_instance_of_a_namespace_is_one_whoever_holds_it() -> None:
    one, other = (
        of_holder(Candidate(kind="contour", namespace="shop", name=name, created=OLD), "edge") for name in "ab"
    )
    assert one.is_same(other)
    assert not one.is_same(Contender(OLD, "shop", "a", "Gateway"))
    assert not one.is_same(of_holder(Candidate(kind="contour", namespace="shop", name="a", created=OLD), "web"))
