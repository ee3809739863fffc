"""Versions of shared kinds: what another version says is stored as the stored one says it, and shown back as it was."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.loading import load_schema
from intentc.model.manifest import flattened, manifest_of

INGRESS = load_schema("kubernetes").kind("ingress").manifests
NAME = {"name": "i", "namespace": "shop"}


def ingress(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Ingress", "metadata": NAME, "spec": spec}


def of_path(backend: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"host": "a.example", "http": {"paths": [{"path": "/", "backend": backend}]}}]


@pytest.mark.parametrize("older", ["networking.k8s.io/v1beta1", "extensions/v1beta1"])
@pytest.mark.parametrize(("port", "stored"), [(80, {"number": 80}), ("web", {"name": "web"})])
def test_backends_of_v1beta1_have_two_levels_in_v1(older: str, port: Any, stored: dict[str, Any]) -> None:
    flat_backend = {"serviceName": "echo", "servicePort": port}
    backend = {"service": {"name": "echo", "port": stored}}
    old = ingress(older, backend=flat_backend, rules=of_path(flat_backend))
    new = ingress("networking.k8s.io/v1", defaultBackend=backend, rules=of_path(backend))
    assert flattened(old, INGRESS) == {**flattened(new, INGRESS), "api_version": older}
    assert manifest_of(flattened(new, INGRESS), INGRESS, older) == old
    assert manifest_of(flattened(old, INGRESS), INGRESS, "networking.k8s.io/v1") == new
    assert manifest_of(flattened(old, INGRESS), INGRESS) == old


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"rules": "text"},
        {"rules": ["text", {"host": "h"}, {"http": []}, {"http": {"paths": ["text", {"path": "/"}]}}]},
        {"backend": "text"},
        {"backend": {"resource": {"kind": "Bucket", "name": "b"}}},
    ],
)
def test_what_has_another_form_stays_so_that_admission_can_say_so(spec: dict[str, Any]) -> None:
    old = ingress("extensions/v1beta1", **spec)
    flat = flattened(old, INGRESS)
    assert flat.get("rules") == spec.get("rules")
    assert flat.get("defaultBackend") == spec.get("backend")
