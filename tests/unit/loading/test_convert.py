"""Typed values from a file: errors name file, line and key, and what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import pytest

from intentc.loading import convert, in_words, load_yaml
from intentc.loading.convert import did_you_mean, fields_at
from intentc.model.problem import InvalidInput


class Endpoint(msgspec.Struct, forbid_unknown_fields=True):
    address: str
    port: int = 2379


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    endpoints: tuple[Endpoint, ...] = ()
    named: Mapping[str, Endpoint] = {}
    first: Endpoint | None = None


def rejected(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        convert(load_yaml(text, source="f.yml"), Settings)
    return str(caught.value)


def test_a_value_becomes_its_type() -> None:
    settings = convert(load_yaml("endpoints: [{address: a}]\nfirst: {address: b, port: 1}"), Settings)

    assert settings == Settings((Endpoint("a"),), {}, Endpoint("b", 1))


def test_a_part_can_be_converted_alone() -> None:
    assert convert(load_yaml("a: [{address: x}]"), Endpoint, ("a", 0)) == Endpoint("x")


def test_a_wrong_type_names_its_place() -> None:
    message = rejected("endpoints:\n  - address: a\n  - address: b\n    port: many")

    assert message == "f.yml:4: endpoints.1.port: must be an integer, is a string"


def test_a_missing_key_names_where_it_is_missing() -> None:
    assert rejected("first:\n  port: 1") == "f.yml:1: first: `address` is missing"


def test_an_unknown_key_gets_the_nearest_known_one() -> None:
    message = rejected("endpoints:\n  - address: a\n    prot: 1")

    assert message == "f.yml:3: unknown key 'endpoints.0.prot'; did you mean port?"


def test_an_unknown_key_without_a_near_one_gets_the_list() -> None:
    assert rejected("first:\n  address: a\n  zzz: 1").endswith("; known are address, port")


def test_an_unknown_key_inside_a_mapping_is_found_by_its_key() -> None:
    message = rejected("named:\n  zero: {address: a}\n  one:\n    address: a\n    prot: 1")

    assert message == "f.yml:5: unknown key 'named.one.prot'; did you mean port?"


def test_another_error_inside_a_mapping_has_the_line_of_the_mapping() -> None:
    assert (
        rejected("\nnamed:\n  one: {address: 1}") == "f.yml:2: named: something in it: must be a string, is an integer"
    )


@pytest.mark.parametrize(
    ("wanted", "value", "described"),
    [
        (dict[str, int], [], ("", "must be an object, is a list")),
        (dict[str, list[int]], {"a": [1, "b"]}, ("[...][1]", "must be an integer, is a string")),
        (Settings, {"first": "x"}, ("first", "must be an object, is a string")),
        (Settings, {"endpoints": [{}]}, ("endpoints[0]", "`address` is missing")),
        (bool | None, 3, ("", "must be true or false, is an integer")),
        (Annotated[int, msgspec.Meta(ge=1)], 0, ("", "must be an integer at least 1")),
        (str, None, ("", "must be a string, is empty")),
        (Literal["a"], "b", ("", "must be a, is 'b'")),
        (list[Literal["", "a", "b", "c"]], ["a", "d"], ("[1]", "must be a, b or c, is 'd'")),
        (dict[str, Literal["a", "b"] | None], {"x": "d"}, ("[...]", "must be a or b, is 'd'")),
    ],
)
def test_a_failed_conversion_is_described_for_people(wanted: Any, value: Any, described: tuple[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, wanted)

    assert in_words(caught.value, wanted) == described


def test_many_known_names_without_a_near_one_give_no_hint() -> None:
    assert did_you_mean("zzz", [f"name-{number}" for number in range(30)]) == ""


def test_fields_at_what_is_no_struct_are_none() -> None:
    assert fields_at(Settings, ("endpoints", 0, "port")) == []
    assert fields_at(Settings, ("named", "any")) == ["address", "port"]
    assert fields_at(Settings, ("absent", "deeper")) == []
