"""Kubernetes manifests as resources: identity from ``metadata``, fields from ``spec``, versions brought to one.

The stored value stays the manifest as it was applied; this turns it into the flat form that every kind decodes from.
"""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from .values import without_nulls

_NAMESPACE = uuid_module.UUID("0d0e7a5e-7f3b-5f0d-9c57-6a1d5b9a4f11")


def manifest_identity(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """(namespace, name); the namespace of a manifest without one is ``default``."""
    metadata = manifest.get("metadata") or {}
    return (str(metadata.get("namespace") or "default"), str(metadata.get("name") or ""))


def manifest_uuid(kind: str, manifest: Mapping[str, Any]) -> str:
    """``metadata.uid``, or one derived from kind, namespace and name, the same every time."""
    uid = (manifest.get("metadata") or {}).get("uid")
    return str(uid or uuid_module.uuid5(_NAMESPACE, "\0".join((kind, *manifest_identity(manifest)))))


def manifest_flattener(
    kind: str, versions: Mapping[str, Mapping[str, str]]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function from a manifest to the flat form: common fields, ``labels``, and the fields of ``spec``.

    ``versions``: apiVersion → {old path under ``spec``: new path}, dots between names.
    Raises ``msgspec.ValidationError`` for an apiVersion that is not declared, and where the manifest has no name.
    """

    def flatten(manifest: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(manifest, dict):
            raise msgspec.ValidationError("a manifest is an object")
        manifest = without_nulls(manifest)
        version = str(manifest.get("apiVersion", ""))
        if versions and version not in versions:
            raise msgspec.ValidationError(f"apiVersion {version!r} is not known; there are {', '.join(versions)}")
        metadata = _mapping(manifest, "metadata")
        if not metadata.get("name"):
            raise msgspec.ValidationError("metadata.name is missing")
        spec = dict(_mapping(manifest, "spec"))
        for old, new in versions.get(version, {}).items():
            _move(spec, old.split("."), new.split("."))
        annotations = _mapping(metadata, "annotations")
        return {
            **spec,
            "uuid": manifest_uuid(kind, manifest),
            "fq_name": list(manifest_identity(manifest)),
            "labels": metadata.get("labels") or {},
            "annotations": {"key_value_pair": [{"key": k, "value": v} for k, v in annotations.items()]},
        }

    return flatten


def _mapping(holder: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A field that is an object or missing."""
    value = holder.get(field, {})
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"{field}: Expected `object`, got `{type(value).__name__}`")
    return value


def _move(spec: dict[str, Any], old: list[str], new: list[str]) -> None:
    holder: Any = spec
    for part in old[:-1]:
        holder = holder.get(part)
        if not isinstance(holder, dict):
            return
    if old[-1] not in holder:
        return
    value = holder.pop(old[-1])
    target = spec
    for part in new[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise msgspec.ValidationError(f"{part}: Expected `object`, got `{type(target).__name__}`")
    target.setdefault(new[-1], value)
