"""Fields whose empty value differs from a missing one, and fields that an annotation may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc.loading import load_schema
from intentc.model.events import Change
from intentc.model.resource import Resource

SCHEMA = load_schema("ambassador")
CONTRAIL = load_schema("contrail")
EMPTY: list[tuple[str, Any]] = [
    ("add_request_headers", {}),
    ("remove_request_headers", []),
    ("circuit_breakers", []),
    ("cors", {}),
    ("stats_name", ""),
]


def decoded(kind: str, **fields: Any) -> Resource:
    value = {"uuid": "a", "fq_name": ["shop", "a"], **fields}
    return SCHEMA.kind(kind).decode(Change(kind, "a", json.dumps(value).encode(), 1, 1))


@pytest.mark.parametrize(("field", "empty"), EMPTY, ids=[field for field, _ in EMPTY])
def test_an_optional_field_that_is_given_and_empty_differs_from_a_missing_one(field: str, empty: Any) -> None:
    missing, null, given = decoded("mapping"), decoded("mapping", **{field: None}), decoded("mapping", **{field: empty})
    assert getattr(missing.values(), field) is None
    assert not getattr(given.values(), field)
    assert missing.kind.same_input(missing, null)
    assert not missing.kind.same_input(missing, given)


def annotated(**pairs: str) -> dict[str, Any]:
    return {"key_value_pair": [{"key": key, "value": value} for key, value in pairs.items()]}


def port_group(**fields: Any) -> Resource:
    value = {"uuid": "a", "fq_name": ["shop", "a"], **fields}
    return CONTRAIL.kind("virtual_port_group").decode(
        Change("virtual_port_group", "a", json.dumps(value).encode(), 1, 1)
    )


def test_a_field_may_stand_in_an_annotation() -> None:
    used = port_group(annotations=annotated(usage="sriov-vm", team="web"))
    assert used.values().usage == "sriov-vm"
    assert not used.kind.same_input(used, port_group(annotations=annotated(team="web")))


def test_the_field_itself_counts_before_its_annotation() -> None:
    assert port_group(usage="own", annotations=annotated(usage="sriov-vm")).values().usage == "own"


@pytest.mark.parametrize("annotations", [{"key_value_pair": None}, {}, None, annotated(usage="")])
def test_without_the_annotation_the_field_is_not_set(annotations: Any) -> None:
    assert port_group(annotations=annotations).values().usage == ""
