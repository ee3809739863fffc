"""Kinds of Kubernetes that several compilers read: named in ``types.yml``, loaded once, and only as far as declared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intentc import Compiler, Intent
from intentc.loading import load_schema
from intentc.model.problem import InvalidInput
from intentc.model.structural_schema import pruned
from intentc.plugins import load_all

Write = Callable[..., Path]
SHARED = load_schema("kubernetes")


def schemas(write: Write, kinds: str, *, compiler: str = "toy", thing: str = "kind: thing\ngroup: toy\n") -> Path:
    write(f"{compiler}/types.yml", f"kubernetes: {kinds}\n")
    return write(f"{compiler}/thing.yml", thing).parent.parent


def test_a_compiler_reads_the_kinds_that_it_names_and_mentions_among_them(write: Write) -> None:
    alone = load_schema("toy", directories=[schemas(write, "[ingress]")])
    assert {"thing", "ingress"} == set(alone.kinds)
    assert not alone.kind("ingress").mentions
    both = load_schema("ambassador")
    assert set(both.kind("ingress").mentions) == {"backends", "certificates"}
    assert "pod" not in both


def test_two_compilers_share_one(write: Write) -> None:
    schema = load_schema("ambassador", "toy", directories=[schemas(write, "[service, pod]")])
    assert {"service", "pod", "mapping", "thing"} <= set(schema.kinds)


def test_nodes_and_namespaces_have_names_that_contrail_does_not_have() -> None:
    assert {"node", "kubernetes_node"} <= set(load_schema("contrail", "kubernetes").kinds)
    found = SHARED.of_manifest("v1", "Namespace")
    assert found is not None
    assert (found.name, found.manifests.plural, found.manifests.cluster_scoped) == (
        "kubernetes_namespace", "namespaces", True
    )  # fmt: skip


TWO_VERSIONS = "kind: thing\ngroup: toy\nshape: kubernetes\nversions: {toy/v2: {}, toy/v1: {}}\n"


@pytest.mark.parametrize(
    ("kinds", "thing", "message"),
    [
        ("[ingres]", "kind: thing\ngroup: toy\n", "there is no shared kind 'ingres' .*did you mean ingress"),
        (
            "[]",
            TWO_VERSIONS + "converted: {toy/v1: no.such:THING}\n",
            r"thing.yml:5: converted: 'no.such:THING' can't be loaded",
        ),
        (
            "[]",
            TWO_VERSIONS + "converted: {toy/v1: 'os:path'}\n",
            "'os:path' is no Conversion",
        ),
        (
            "[]",
            "kind: thing\ngroup: toy\nshape: kubernetes\nversions: {toy/v1: {}}\nconverted: {toy/v2: 'os:path'}\n",
            "thing.yml:5: v2: 'toy/v2' is unknown|toy/v2",
        ),
        (
            "[]",
            "kind: thing\ngroup: toy\nshape: kubernetes\nproperties: {a: {type: string, annotation: x}}\n",
            r"view.metadata.annotations.get\(KEY\)",
        ),
        ("[]", "kind: thing\ngroup: toy\nshape: kubernetes\nscope: global\n", "scope: 'global' is unknown"),
    ],
)
def test_a_bad_declaration_is_rejected(write: Write, kinds: str, thing: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_schema("toy", directories=[schemas(write, kinds, thing=thing)])


def test_only_the_declared_fields_of_a_pod_are_stored() -> None:
    container: dict[str, Any] = {
        "name": "web",
        "image": "web:1",
        "ports": [{"containerPort": 80, "hostIP": ""}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "web", "httpHeaders": []}, "periodSeconds": 3},
    }
    flat = {"fq_name": ["shop", "p"], "metadata": {"labels": {"a": "b"}}, "volumes": [], "containers": [container, "x"]}
    assert pruned(SHARED.kind("pod"), flat) == {
        "fq_name": ["shop", "p"],
        "metadata": {"labels": {"a": "b"}},
        "containers": [
            {
                "name": "web",
                "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 3},
            },
            "x",
        ],
    }


def test_compilers_of_one_kind_are_not_loaded_together(write: Write) -> None:
    path = schemas(write, "[ingress]")
    schemas(write, "[ingress]", compiler="other", thing="kind: thing\ngroup: toy\n").joinpath(
        "other/thing.yml"
    ).unlink()

    class Ingress(Intent):
        kind = "ingress"

    reactions = write("reactions.yml", "intent-compiler: {}\n")
    compilers = [Compiler(name, [Ingress], schema_directories=[path], reactions=reactions) for name in ("toy", "other")]
    with pytest.raises(InvalidInput, match="toy and other compile ingress, each in its own way"):
        load_all(compilers)


def test_a_shared_kind_belongs_to_the_compiler_that_compiles_it_whoever_else_reads_it(write: Write) -> None:
    path = schemas(write, "[ingress]")

    class Ingress(Intent):
        kind = "ingress"

    reactions = write("reactions.yml", "intent-compiler: {}\n")
    write("reader/types.yml", "kubernetes: [ingress]\n")
    compiling = Compiler("toy", [Ingress], schema_directories=[path], reactions=reactions)
    reading = Compiler("reader", [], schema_directories=[path], reactions=reactions)
    for order in ((compiling, reading), (reading, compiling)):
        assert load_all(order).compiler_of_kind["ingress"] == "toy"
