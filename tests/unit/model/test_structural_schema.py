"""A kind as an OpenAPI v3 schema: what a cluster checks, explains and shows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs

from intentc.loading import load_schema
from intentc.loading.yaml import load_documents
from intentc.model.structural_schema import printer_columns, structural_schema

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema("toy", "ambassador", directories=[ROOT / "tests/support/toy/schemas"])
MANIFESTS = [kind for kind in SCHEMA if kind.written_as_manifests]


def nodes(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, below in node.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")


@pytest.mark.parametrize("kind", MANIFESTS, ids=lambda kind: kind.name)
def test_every_schema_is_structural(kind: Any) -> None:
    for version in kind.manifests.versions or [f"{kind.group}/v1"]:
        for path, node in nodes(structural_schema(kind, version)):
            free = node.get("x-kubernetes-preserve-unknown-fields") or node.get("x-kubernetes-int-or-string")
            assert "type" in node or free, path
            assert set(node.get("required", ())) <= set(node.get("properties", ())), path


@pytest.mark.parametrize("file", sorted((ROOT / "sample/ambassador").glob("*.yaml")), ids=lambda file: file.name)
def test_the_sample_is_valid(file: Path) -> None:
    for document in load_documents(file.read_text(), source=str(file)):
        kind = SCHEMA.spelt(document.value["kind"])
        assert kind is not None
        jsonschema.validate(document.value, structural_schema(kind, document.value["apiVersion"]))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"prefix": "/a/", "service": "a", "weight": 101}, "101 is greater than the maximum of 100"),
        ({"prefix": "/a/", "service": "a", "weight": "ten"}, "'ten' is not of type 'integer'"),
        ({"prefix": "/a/", "service": "a", "priority": "low"}, "'low' is not one of ['default', 'high']"),
        ({"prefix": "/a/"}, "'service' is a required property"),
    ],
)
def test_types_bounds_enums_and_required_fields_are_checked(spec: dict[str, Any], message: str) -> None:
    schema = structural_schema(SCHEMA.kind("mapping"), "getambassador.io/v3alpha1")
    with pytest.raises(jsonschema.ValidationError, match=message.replace("[", r"\[")):
        jsonschema.validate({"spec": spec}, schema)


def test_the_spec_is_required_if_a_field_of_it_is() -> None:
    schema = structural_schema(SCHEMA.kind("mapping"), "getambassador.io/v3alpha1")
    assert schema["required"] == ["spec"]


def test_a_moved_field_stands_where_its_version_has_it() -> None:
    kind = SCHEMA.kind("toy_route")
    newer, older = (
        structural_schema(kind, f"toy.intentc.io/{v}")["properties"]["spec"]["properties"] for v in ("v1", "v1alpha1")
    )
    assert newer["match"]["properties"].keys() == {"prefix", "exact"}
    assert older["path"] == {"type": "string"}
    assert older["match"]["properties"].keys() == {"exact"}
    assert ("service" in newer, "service" in older, "backend" in older) == (True, False, True)


def test_versions_with_other_fields_keep_them_in_a_cluster_that_does_not_convert() -> None:
    kind = SCHEMA.kind("toy_route")
    spec = structural_schema(kind, "toy.intentc.io/v1")["properties"]["spec"]
    assert spec["x-kubernetes-preserve-unknown-fields"]


def test_fields_next_to_metadata_are_in_no_spec() -> None:
    schema = structural_schema(SCHEMA.kind("secret"), "v1")
    assert "spec" not in schema["properties"]
    assert schema["properties"]["data"]["type"] == "object"


def test_a_required_field_next_to_metadata_is_required_there() -> None:
    secret = copy.copy(SCHEMA.kind("secret"))
    assert "required" not in structural_schema(secret, "v1")
    secret.properties = {**secret.properties, "data": structs.replace(secret.properties["data"], required=True)}
    assert structural_schema(secret, "v1")["required"] == ["data"]


def test_what_a_default_means_is_said_and_not_written() -> None:
    fields = structural_schema(SCHEMA.kind("mapping"), "getambassador.io/v3alpha1")["properties"]["spec"]["properties"]
    assert fields["connect_timeout_ms"]["description"] == "Default: 3000."
    assert "description" not in {**fields["cluster_idle_timeout_ms"]}
    assert "-1" not in fields["health_checks"]["items"]["properties"]["healthy_threshold"].get("description", "")
    assert all("default" not in node for node in fields.values())


def test_columns_lead_to_fields_of_the_manifest() -> None:
    columns = printer_columns(SCHEMA.kind("mapping"), "getambassador.io/v3alpha1")
    assert [(c.name, c.type, c.json_path) for c in columns] == [
        ("Source Host", "string", ".spec.hostname"),
        ("Source Prefix", "string", ".spec.prefix"),
        ("Dest Service", "string", ".spec.service"),
        ("State", "string", ".status.state"),
        ("Reason", "string", ".status.reason"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ]
    ports = printer_columns(SCHEMA.kind("service"), "v1")[2]
    assert (ports.name, ports.type, ports.json_path) == ("Port", "integer", ".spec.ports[*].port")
