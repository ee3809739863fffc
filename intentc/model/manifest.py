"""Converts Kubernetes manifests to resources: identity from ``metadata``, fields from ``spec``, one version.

People write manifests; after decoding everything has the flat form, which is also the form in etcd::

    {"uuid", "fq_name": [namespace, name], "api_version", "labels"?, "annotations"?, field: value …}

The schema declares the fields of a kind; the API server decides what is rejected.

Functions of values that change none of them: no state, no I/O.
"""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from .values import without_nulls

DEFAULT_NAMESPACE = "default"

_NAMESPACE = uuid_module.UUID("0d0e7a5e-7f3b-5f0d-9c57-6a1d5b9a4f11")
_WHOLE_COPY = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl repeats the manifest: it adds nothing, and repeats secrets."""

_NO_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The keys at the top of a manifest that are no fields of the resource; others (a Secret's ``data``) are."""

_STANDING = {
    "uuid": ("metadata", "uid"),
    "fq_name": ("metadata", "name"),
    "api_version": ("apiVersion",),
    "labels": ("metadata", "labels"),
    "annotations": ("metadata", "annotations"),
}
"""Common fields of the flat form → their places in a manifest."""

Steps = tuple[str | int, ...]


def is_manifest(value: Any) -> bool:
    """Whether a resource as JSON is a manifest, and not the flat form."""
    return isinstance(value, dict) and "fq_name" not in value and ("metadata" in value or "apiVersion" in value)


def manifest_identity(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """(namespace, name); the namespace of a manifest without one is ``default``."""
    metadata = manifest.get("metadata") or {}
    return (str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata.get("name") or ""))


def manifest_uuid(kind: str, fq_name: Sequence[str]) -> str:
    """The uuid of a resource whose manifest has no ``metadata.uid``: derived from kind, namespace and name, the same
    every time."""
    return str(uuid_module.uuid5(_NAMESPACE, "\0".join((kind, *fq_name))))


def flattened(manifest: Mapping[str, Any], versions: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The flat form of a manifest; ``uuid`` only if it has a ``metadata.uid``.

    ``versions``: apiVersion → {old path under ``spec``: new path}, dots between names. Raises
    ``msgspec.ValidationError`` for an apiVersion that is not declared, a manifest without a name, a field that stands
    at the top and in ``spec``, and one that is called as a common field.
    """
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
    fields = {field: value for field, value in manifest.items() if field not in _NO_FIELDS}
    for field in sorted(fields.keys() & spec.keys()):
        raise msgspec.ValidationError(f"{field} stands at the top and in spec; keep one of them")
    for field in sorted((fields.keys() | spec.keys()) & _STANDING.keys()):
        raise msgspec.ValidationError(f"{field} stands in metadata, and is no field of the resource itself")
    flat = {**fields, **spec, "fq_name": list(manifest_identity(manifest)), "api_version": version}
    if metadata.get("uid"):
        flat["uuid"] = str(metadata["uid"])
    if metadata.get("labels"):
        flat["labels"] = metadata["labels"]
    annotations = _mapping(metadata, "annotations").items()
    pairs = [{"key": key, "value": value} for key, value in annotations if key != _WHOLE_COPY]
    if pairs:
        flat["annotations"] = {"key_value_pair": pairs}
    return flat


def place_in_manifest(manifest: Mapping[str, Any], moves: Mapping[str, str], field: Steps) -> Steps:
    """Where a field of the flat form, given by its steps, stands in its manifest. ``moves``: those of its version."""
    if not field:
        return ()
    first, rest = str(field[0]), field[1:]
    if first in _STANDING:
        return (*_STANDING[first], *(() if first in ("uuid", "fq_name") else rest))
    for old, new in moves.items():
        target, source = tuple(new.split(".")), tuple(old.split("."))
        if field[: len(target)] == target and _has(manifest.get("spec"), source):
            return ("spec", *source, *field[len(target) :])
    return field if first in manifest and first not in _NO_FIELDS else ("spec", *field)


def _has(value: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


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
