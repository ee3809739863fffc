"""Manifests in input files: flat once they are read, every field with its line, and the errors of bad ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.loading import Loaded, load_resources, load_schema
from intentc.model.problem import InvalidInput
from intentc.model.schema import Schema

Write = Callable[..., Path]

ROUTE = """apiVersion: toy.intentc.io/v1alpha1
kind: ToyRoute
metadata:
  name: r
  namespace: shop
  labels:
    app: web
spec:
  hostname: h
  path: /a
  backend: web
"""


@pytest.fixture
def toy() -> Schema:
    return load_schema("toy", directories=[Path("tests/support/toy/schemas")])


@pytest.fixture
def route(write: Write, toy: Schema) -> Loaded:
    (loaded,) = load_resources(write("in.yml", ROUTE), toy)
    return loaded


def test_a_manifest_is_flat_once_it_is_read(route: Loaded) -> None:
    assert (route.kind, route.whole) == ("toy_route", True)
    assert route.data == {
        "fq_name": ["shop", "r"],
        "api_version": "toy.intentc.io/v1alpha1",
        "metadata": {"labels": {"app": "web"}},
        "hostname": "h",
        "match": {"prefix": "/a"},
        "service": "web",
    }


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ((), 1),
        (("api_version",), 1),
        (("fq_name",), 4),
        (("metadata", "labels", "app"), 7),
        (("hostname",), 9),
        (("match", "prefix"), 10),
        (("service",), 11),
        (("timeout_ms",), 8),
    ],
)
def test_each_field_knows_the_line_where_the_user_wrote_it(route: Loaded, field: tuple[str, ...], line: int) -> None:
    assert route.where(field).rpartition(":")[2] == str(line)


def test_a_list_of_manifests_is_opened(write: Write, toy: Schema) -> None:
    path = write("in.yml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ToyPod, metadata: {name: p}}")

    (pod,) = load_resources(path, toy)

    assert (pod.kind, pod.source, pod.where(("fq_name",))) == ("toy_pod", f"{path}:4", f"{path}:4")


@pytest.mark.parametrize("kind", ["ToyPod", "toypod", "toy_pod", "TOYPod"])
def test_a_kind_is_known_by_its_name_whatever_its_case(write: Write, toy: Schema, kind: str) -> None:
    path = write("in.yml", f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: p}}")

    assert [item.kind for item in load_resources(path, toy)] == ["toy_pod"]


@pytest.mark.parametrize("namespace", ["", ", namespace: default"])
def test_a_name_that_stands_twice_is_rejected_whether_or_not_its_namespace_is_written(
    write: Write, toy: Schema, namespace: str
) -> None:
    pod = "apiVersion: v1\nkind: ToyPod\nmetadata: {name: p%s}\n"
    path = write("in.yml", f"{pod % ''}---\n{pod % namespace}")

    with pytest.raises(InvalidInput, match=r"in\.yml:5: toy_pod default:p is already in .*:1"):
        load_resources(path, toy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: v1\nkind: ToyPod\nmetadata:\n  labels: {}", "3: metadata.name is missing"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata: p", "3: metadata.name is missing"),
        ("apiVersion: v1\nkind: ToyPod", "1: metadata.name is missing"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata:\n  name: 7", "4: metadata.name is text; quote it"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata:\n  name: p\n  namespace: [a]", "5: metadata.namespace is text"),
        ("apiVersion: 1\nkind: ToyPod\nmetadata: {name: p}", "1: apiVersion is text; quote it"),
        ("apiVersion: v1\nkind: ToyPodd\nmetadata: {name: p}", "2: unknown kind 'ToyPodd'"),
        ("apiVersion: v1\nkind: ToyPods\nmetadata: {name: p}", "2: unknown kind 'ToyPods'"),
        ("apiVersion: v1\nmetadata: {name: p}", "1: this is no resource"),
        ("apiVersion: v1\nkind: ToyListener\nmetadata: {name: p}", "1: toy_listener is written as `{kind:"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata: {name: p}\nspec: text", "1: spec: Expected `object`"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata: {name: p}\nspec: {a: 1}\na: 2", "1: a stands at the top and in spec"),
        ("apiVersion: v1\nkind: ToyPod\nmetadata: {name: p}\nspec: {metadata: {}}", "1: metadata stands in metadata"),
        (
            "kind: ToyRoute\napiVersion: routes.other.io/v1\nmetadata: {name: r}",
            "2: ToyRoute of group 'routes.other.io' is not known; ToyRoute is of toy.intentc.io: give toy.int",
        ),
    ],
)
def test_the_error_of_a_bad_manifest_names_place_and_cause(write: Write, toy: Schema, text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_resources(write("in.yml", text), toy)

    assert str(caught.value).partition("in.yml:")[2].startswith(message)
