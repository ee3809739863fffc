"""Fixtures of the model's tests: the toy kinds, and changes as the watch delivers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc.loading import load_schema
from intentc.model.events import Change
from intentc.model.manifest import manifest_identity, manifest_uuid
from intentc.model.resource import Resource
from intentc.model.schema import Schema

Decode = Callable[..., Resource]


@pytest.fixture
def toy() -> Schema:
    return load_schema("toy", directories=[Path("tests/support/toy/schemas")])


@pytest.fixture
def contrail() -> Schema:
    return load_schema("contrail")


@pytest.fixture
def decode(contrail: Schema) -> Decode:
    """``decode(kind, **fields)`` → the Contrail resource with these fields, uuid ``u`` and fq_name ``a:b``."""

    def resource(kind: str, /, **fields: Any) -> Resource:
        raw = msgspec.json.encode({"uuid": "u", "fq_name": ["a", "b"], **fields})
        return contrail.kind(kind).decode(Change(kind, "u", raw, 1, 2))

    return resource


@pytest.fixture
def manifest(toy: Schema) -> Decode:
    """``manifest(kind, name, spec, **metadata)`` → the toy resource of that manifest in namespace ``shop``."""

    def resource(
        kind: str, name: str, spec: dict[str, Any], /, version: str = "toy.intentc.io/v1", **metadata: Any
    ) -> Resource:
        whole = {"name": name, "namespace": "shop", **metadata}
        raw = msgspec.json.encode({"apiVersion": version, "kind": kind, "metadata": whole, "spec": spec})
        uid = metadata.get("uid") or manifest_uuid(kind, manifest_identity({"metadata": whole}))
        return toy.kind(kind).decode(Change(kind, uid, raw, 1, 2))

    return resource
