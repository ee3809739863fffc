"""The values of a text: plain scalars by YAML 1.2, keys always text, JSON included."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.loading import load_documents, load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("0x1F", 31),
        ("0o17", 15),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("!!str 12", "12"),
        ("target:64512:1", "target:64512:1"),
        ("10.0.0.0", "10.0.0.0"),
        ("-", [None]),
    ],
)
def test_a_plain_scalar_is_what_a_person_meant(text: str, value: Any) -> None:
    assert load_yaml(f"a: {text}" if value != [None] else f"a:\n  {text}").value == {"a": value}


def test_the_key_on_stays_text() -> None:
    assert load_yaml("on: 1\n5: 2\ntrue: 3").value == {"on": 1, "5": 2, "true": 3}


def test_json_is_read_with_lines() -> None:
    located = load_yaml('{\n\t"a": [\n\t\t1e2, "\\/"]\n}')

    assert located.value == {"a": [100.0, "/"]}
    assert located.line(("a", 0)) == 3


def test_json_that_is_no_yaml_is_read_all_the_same() -> None:
    assert load_yaml('{"a": "\\ud83d\\ude00"}').value == {"a": "\U0001f600"}


def test_documents_are_separated_and_empty_ones_left_out() -> None:
    documents = load_documents("a: 1\n---\n---\nb: 2\n")

    assert [(document.value, document.line()) for document in documents] == [({"a": 1}, 1), ({"b": 2}, 4)]


def test_an_alias_gives_a_copy_of_its_own() -> None:
    value = load_yaml("a: &x [1]\nb: *x").value

    value["a"].append(2)
    assert value["b"] == [1]


def test_merged_mappings_fill_in_what_is_missing() -> None:
    value = load_yaml("base: &base {a: 1, b: 1}\nmore: {<<: *base, b: 2}").value

    assert value["more"] == {"a": 1, "b": 2}


def test_an_empty_text_is_one_document_without_value() -> None:
    located = load_yaml("# nothing\n", source="empty.yml")

    assert located.value is None
    assert located.where() == "empty.yml:1"


def test_a_path_that_is_not_there_gives_the_line_around_it() -> None:
    located = load_yaml("a:\n  b:\n    - 1\n    - c: 2\n", source="f.yml")

    assert located.where(("a", "b", 1, "c")) == "f.yml:4"
    assert located.where(("a", "b", 1, "missing", "deeper")) == "f.yml:4"
    assert located.where(("a", "b", 7)) == "f.yml:2"
