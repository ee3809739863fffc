"""What one patch may cost, and that large lists are merged element by element in linear time."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.errors import TooLarge
from intentc.apiserver.kubernetes.catalog import Catalog
from intentc.apiserver.kubernetes.fieldsets import built_in
from intentc.apiserver.kubernetes.patches import MOST_OPERATIONS, patched, strategic
from intentc.apiserver.kubernetes.received import validated
from intentc.apiserver.kubernetes.server_side_apply import Owner, apply, merged, updated
from intentc.apiserver.kubernetes.status_errors import Answered
from intentc.loading import load_schema

NOW = "2026-11-24T09:00:00Z"
A, B = Owner("a", "Apply"), Owner("b", "Apply")


def ports(first: int, last: int, **more: Any) -> dict[str, Any]:
    return {"spec": {"ports": [{"port": port, "protocol": "TCP", **more} for port in range(first, last)]}}


def test_a_json_patch_that_copies_into_itself_ends_at_its_limit() -> None:
    operations = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(40)]
    with pytest.raises(TooLarge, match="copies of this JSON patch have more than 3,145,728 bytes"):
        patched({"a": {"b": "x" * 50}}, operations)


def test_a_json_patch_of_too_many_operations_is_rejected() -> None:
    operation = {"op": "add", "path": "/a", "value": 1}
    assert patched({}, [operation] * MOST_OPERATIONS) == {"a": 1}
    with pytest.raises(TooLarge, match="maximum operations in a JSON patch is 10,000, got 10,001"):
        patched({}, [operation] * (MOST_OPERATIONS + 1))


def test_a_json_patch_that_shifts_a_long_list_repeatedly_reaches_its_limit() -> None:
    operations = [{"op": "add", "path": "/a/0", "value": 0}] * MOST_OPERATIONS
    assert len(patched({"a": []}, operations)["a"]) == MOST_OPERATIONS
    with pytest.raises(TooLarge, match="shifts more than 200,000,000 elements"):
        patched({"a": [0] * 400_000}, operations)


@pytest.mark.parametrize("name", ["copy", "move"])
def test_a_json_patch_can_make_nothing_that_is_nested_too_deep(name: str) -> None:
    down = "/b" * 60
    nested: Any = {}
    for _ in range(60):
        nested = {"b": nested}
    deepen = [
        {"op": "add", "path": "/a", "value": nested},
        {"op": name, "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a", "value": nested},
        {"op": name, "from": "/c", "path": f"/a{down}"},
    ]
    with pytest.raises(Answered, match="nested deeper than 64 levels") as caught:
        patched({}, deepen)
    assert caught.value.code == 422


@pytest.mark.parametrize("pointer", ["/l/" + "9" * 5_000, "/l/01", "/l/²", "/l/-1", "/l/x", "/a/b", "/x", "/" * 65])
def test_a_pointer_that_leads_nowhere_does_not_fit(pointer: str) -> None:
    with pytest.raises(Answered, match="does not fit the resource") as caught:
        patched({"l": [1], "a": 1}, [{"op": "replace", "path": pointer, "value": 2}])
    assert caught.value.code == 422


def test_a_json_patch_changes_nothing_that_it_gets() -> None:
    target = {"a": {"l": [1]}}
    operations = [
        {"op": "add", "path": "/new", "value": {"x": []}},
        {"op": "add", "path": "/new/x/-", "value": 1},
        {"op": "add", "path": "/a/l/0", "value": 0},
        {"op": "move", "from": "/a/l/1", "path": "/moved"},
    ]
    for _ in range(2):
        assert patched(target, operations) == {"a": {"l": [0]}, "new": {"x": [1]}, "moved": 1}
    assert target == {"a": {"l": [1]}}


def test_true_and_1_differ_in_a_test() -> None:
    assert patched({"a": [True]}, [{"op": "test", "path": "/a", "value": [True]}])
    with pytest.raises(Answered, match="another one"):
        patched({"a": [True]}, [{"op": "test", "path": "/a", "value": [1]}])


def test_what_identifies_an_element_goes_with_it_and_stays_with_it() -> None:
    first = apply({}, ports(1, 4, name="x"), (), A, built_in, now=NOW)
    fewer = apply(first.manifest, ports(1, 2, name="x"), first.entries, A, built_in, now=NOW)
    assert fewer.manifest == ports(1, 2, name="x")

    after = merged(first.manifest, ports(3, 4, name="y"), built_in)
    entries = updated(first.manifest, after, first.entries, Owner("u", "Update"), built_in, now=NOW)
    left = apply(after, ports(1, 2, name="x"), entries, A, built_in, now=NOW)
    assert left.manifest["spec"]["ports"] == [
        {"port": 1, "protocol": "TCP", "name": "x"},
        {"port": 3, "protocol": "TCP", "name": "y"},
    ]


class Counting(str):
    """A text that counts how often it is compared or hashed."""

    operations = 0

    def __eq__(self, other: object) -> bool:
        Counting.operations += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counting.operations += 1
        return str.__hash__(self)


@pytest.mark.parametrize("form", ["keys", "set", "deletion"])
def test_the_comparisons_of_a_strategic_patch_grow_with_its_size_alone(form: str) -> None:
    def comparisons(size: int) -> int:
        names = [Counting(f"example.com/{number}") for number in range(size)]
        others = [Counting(f"example.com/{number}") for number in range(size)]
        if form == "keys":
            before: Any = {"spec": {"containers": [{"name": name} for name in names]}}
            patch: Any = {"spec": {"containers": [{"name": name, "image": "x"} for name in others]}}
        else:
            before = {"metadata": {"finalizers": names}}
            field = "finalizers" if form == "set" else "$deleteFromPrimitiveList/finalizers"
            patch = {"metadata": {field: others}}
        Counting.operations = 0
        strategic(before, patch, built_in)
        return Counting.operations

    assert comparisons(2_000) < 3 * comparisons(1_000)


def test_suggestions_are_made_for_the_named_fields_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("intentc.apiserver.kubernetes.received.did_you_mean", lambda name, known: asked.append(name))
    service = Catalog(load_schema("ambassador")).find("", "v1", "services")
    assert service is not None
    named = {"apiVersion": "v1", "kind": "Service"}
    given = {**named, "metadata": {"name": "a", **{f"unknown{number}": 1 for number in range(5_000)}}}
    found = validated(service, given, "Warn")
    assert found.manifest == {**named, "metadata": {"name": "a"}}
    assert found.unstored[0] == "metadata.unknown0"
    assert asked == []
