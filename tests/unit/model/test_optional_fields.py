"""Fields whose empty value differs from a missing one, and fields that an annotation may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc.loading import load_schema
from intentc.model.events import Change
from intentc.model.resource import Resource

SCHEMA = load_schema("ambassador")
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
    return {"annotations": {key.replace("__", "/"): value for key, value in pairs.items()}}


CLASS = "kubernetes.io__ingress.class"


def test_a_field_may_stand_in_an_annotation() -> None:
    with_class = decoded("ingress", metadata=annotated(**{CLASS: "ambassador", "team": "web"}))
    assert with_class.values().older_class == "ambassador"
    assert not with_class.kind.same_input(with_class, decoded("ingress", metadata=annotated(team="web")))


def test_the_field_itself_counts_before_its_annotation() -> None:
    both = decoded("ingress", older_class="nginx", metadata=annotated(**{CLASS: "ambassador"}))
    assert both.values().older_class == "nginx"


@pytest.mark.parametrize("metadata", [{"annotations": None}, {}, None, annotated(**{CLASS: ""})])
def test_without_the_annotation_the_field_is_not_set(metadata: Any) -> None:
    assert decoded("ingress", metadata=metadata).values().older_class == ""
