"""Frozen values: equal exactly if they mean the same, and back to JSON without loss."""

from __future__ import annotations

import msgspec
import pytest

from intentc.model.types import TypeTable, build_struct
from intentc.model.values import ENCODER, FrozenMap, Opaque, freeze, split_path, thaw, values_at, without_nulls

INNER = build_struct("Inner", [("names", tuple[str, ...], ()), ("labels", FrozenMap, FrozenMap())])
OUTER = build_struct("Outer", [("inner", INNER, INNER()), ("items", tuple[INNER, ...], ()), ("number", int, 0)])  # type: ignore[valid-type]


def test_a_struct_is_false_if_it_says_nothing() -> None:
    assert not OUTER()
    assert not OUTER(inner=INNER(names=()))
    assert OUTER(number=1)


def test_defaults_are_left_out_of_json() -> None:
    assert ENCODER.encode(msgspec.convert({"number": 0, "items": []}, OUTER)) == b"{}"


def test_opaque_values_are_compared_by_meaning() -> None:
    one, other = Opaque({"a": 1, "b": [2]}), Opaque({"b": [2], "a": 1})

    assert one == other
    assert hash(one) == hash(other)
    assert Opaque({"b": [2], "a": 2}) != one


@pytest.mark.parametrize("empty", [None, {}, []])
def test_empty_opaque_values_are_equal(empty: object) -> None:
    assert Opaque(empty) == Opaque()
    assert not Opaque(empty)


def test_a_frozen_map_is_equal_in_any_order_and_hashable() -> None:
    one, other = FrozenMap({"a": 1, "b": {"c": [1]}}), FrozenMap({"b": {"c": [1]}, "a": 1})

    assert one == other
    assert len({one, other}) == 1
    assert one["b"]["c"] == (1,)


def test_freeze_and_thaw_are_inverse() -> None:
    value = {"a": [1, {"b": None}], "c": {}}

    assert thaw(freeze(value)) == value


def test_structs_thaw_to_plain_json() -> None:
    value = OUTER(inner=INNER(names=("x",), labels=FrozenMap({"a": "b"})))

    assert thaw(value) == {"inner": {"names": ["x"], "labels": {"a": "b"}}}


def test_nulls_go_at_every_depth() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None, "d": 0}]}) == {"b": [{"d": 0}]}


def test_values_at_a_path_flatten_lists_and_leave_out_the_empty() -> None:
    value = OUTER(items=(INNER(names=("a", "")), INNER(names=("b",))))

    assert list(values_at(value, split_path("items[].names[]"))) == ["a", "b"]
    assert list(values_at(value, split_path("inner.names[]"))) == []


def test_values_at_a_map_are_its_pairs() -> None:
    value = OUTER(inner=INNER(labels=FrozenMap({"app": "web", "tier": "1"})))

    assert list(values_at(value, ("inner", "labels"))) == ["app=web", "tier=1"]
    assert list(values_at(value, ("inner", "labels", "app"))) == ["web"]


def test_a_path_splits_into_names_and_brackets() -> None:
    assert split_path("a.b[].c") == ("a", "b", "[]", "c")


def test_types_reject_what_they_are_not() -> None:
    table = TypeTable({"Port": {"number": {"type": "integer", "minimum": 0, "maximum": 65535}}})
    checked = table.checked(table.fields("Port")["number"])

    assert msgspec.convert(1, checked) == 1
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(70000, checked)


def test_an_enum_is_checked_at_admission_only() -> None:
    table = TypeTable({"Rule": {"way": {"type": "string", "enum": ["in", "out"]}}})

    assert msgspec.convert({"way": "sideways"}, table.struct("Rule")) == table.struct("Rule")(way="sideways")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert("sideways", table.checked(table.fields("Rule")["way"]))
