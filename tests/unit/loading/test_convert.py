"""Typed values from a file: what is wrong is said with file, line and key, and what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from intentc.loading import convert, load_yaml
from intentc.loading.convert import did_you_mean, fields_at
from intentc.model.problem import InvalidInput


class Endpoint(msgspec.Struct, forbid_unknown_fields=True):
    address: str
    port: int = 2379


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    endpoints: tuple[Endpoint, ...] = ()
    named: Mapping[str, Endpoint] = {}
    first: Endpoint | None = None


def refused(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        convert(load_yaml(text, source="f.yml"), Settings)
    return str(caught.value)


def test_a_value_becomes_its_type() -> None:
    settings = convert(load_yaml("endpoints: [{address: a}]\nfirst: {address: b, port: 1}"), Settings)

    assert settings == Settings((Endpoint("a"),), {}, Endpoint("b", 1))


def test_a_part_can_be_converted_alone() -> None:
    assert convert(load_yaml("a: [{address: x}]"), Endpoint, ("a", 0)) == Endpoint("x")


def test_a_wrong_type_names_its_place() -> None:
    message = refused("endpoints:\n  - address: a\n  - address: b\n    port: many")

    assert message == "f.yml:4: endpoints.1.port: Expected `int`, got `str`"


def test_a_missing_key_names_where_it_is_missing() -> None:
    assert refused("first:\n  port: 1") == "f.yml:1: first: Object missing required field `address`"


def test_an_unknown_key_gets_the_nearest_known_one() -> None:
    message = refused("endpoints:\n  - address: a\n    prot: 1")

    assert message == "f.yml:3: unknown key 'endpoints.0.prot'; did you mean port?"


def test_an_unknown_key_without_a_near_one_gets_the_list() -> None:
    assert refused("first:\n  address: a\n  zzz: 1").endswith("; known are address, port")


def test_an_unknown_key_inside_a_mapping_is_found_by_its_key() -> None:
    message = refused("named:\n  zero: {address: a}\n  one:\n    address: a\n    prot: 1")

    assert message == "f.yml:5: unknown key 'named.one.prot'; did you mean port?"


def test_another_error_inside_a_mapping_has_the_line_of_the_mapping() -> None:
    assert refused("\nnamed:\n  one: {address: 1}") == "f.yml:2: named: Expected `str`, got `int`"


def test_many_known_names_without_a_near_one_give_no_hint() -> None:
    assert did_you_mean("zzz", [f"name-{number}" for number in range(30)]) == ""


def test_fields_at_what_is_no_struct_are_none() -> None:
    assert fields_at(Settings, ("endpoints", 0, "port")) == []
    assert fields_at(Settings, ("named", "any")) == ["address", "port"]
    assert fields_at(Settings, ("absent", "deeper")) == []
