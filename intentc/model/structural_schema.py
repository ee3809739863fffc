"""Turns a Kubernetes-shaped kind into an OpenAPI v3 schema that is structural, as CustomResourceDefinitions want it.

Why it exists: ``intentc crds`` prints it for a cluster, and our Kubernetes-compatible API publishes it to clients,
who complete, explain and check manifests with it. Admission does not use it: it checks values in
``loading/checking.py``.

Every node has a type, says that its content is free (``x-kubernetes-preserve-unknown-fields``), or that it is an
integer or a text. Types, enums and bounds are those of the schema file; fields stand where the given version has them.
Fields that compilers write are left out, except ``status``. A default is at most named in the description: a cluster
would write defaults into the stored object. One below the field's minimum means "not set", and is not named.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kind import Kind, Property, Writer
from .manifest_places import at_top
from .status import STATUS
from .types import FieldSpec, TypeTable

Node = dict[str, Any]
"""A node of an OpenAPI v3 schema as JSON."""

_FREE = "x-kubernetes-preserve-unknown-fields"
_SCALARS: Mapping[str, Node] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "integer_or_string": {"x-kubernetes-int-or-string": True},
    "map": {"type": "object", _FREE: True},
    "opaque": {_FREE: True},
}


def structural_schema(kind: Kind, version: str) -> Node:
    """The schema of a whole manifest of ``kind`` with this ``apiVersion``; metadata is an object without fields."""
    spec: Node = {"type": "object", "properties": {}}
    top: Node = {}
    for prop in kind.properties.values():
        if not _is_of_manifest(prop):
            continue
        node = _field(prop.spec, kind.types, is_open=kind.opaque)
        if at_top(kind):
            top[prop.name] = node
        else:
            spec["properties"][prop.name] = node
    for old, new in kind.manifests.versions.get(version, {}).items():
        if new is not None:
            _move(spec, new.split("."), old.split("."))
    required = sorted(prop.name for prop in kind.properties.values() if prop.required)
    if in_spec := [name for name in required if name in spec["properties"]]:
        spec["required"] = in_spec
    if kind.opaque or has_other_versions(kind, version):
        spec[_FREE] = True
    node = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "description": "The version of this manifest's form."},
            "kind": {"type": "string", "description": "The kind of this resource."},
            "metadata": {"type": "object"},
        },
    }
    if kind.description:
        node["description"] = _sentence(kind.description)
    if spec["properties"] or not top:
        node["properties"]["spec"] = spec
    node["properties"] |= top
    if kind.status is not None:
        # Others may write further items there.
        node["properties"][STATUS] = {**_struct(kind.status.type_name, kind.types, is_open=True)}
    if at_the_top := [*(["spec"] if in_spec else ()), *(name for name in required if name in top)]:
        node["required"] = at_the_top
    if kind.opaque:
        node[_FREE] = True
    return node


def has_other_versions(kind: Kind, version: str) -> bool:
    """Whether another version has fields elsewhere: a cluster that does not convert must keep unknown ones."""
    return any(moves != kind.manifests.versions.get(version) for moves in kind.manifests.versions.values())


def _is_of_manifest(prop: Property) -> bool:
    return prop.writer is not Writer.COMPILER


def _field(spec: FieldSpec, types: TypeTable, *, is_open: bool) -> Node:
    name = spec.list or spec.type
    node = dict(_SCALARS[name]) if name in _SCALARS else _struct(name, types, is_open=is_open)
    if not spec.list:
        if spec.enum:
            node["enum"] = list(spec.enum)
        if spec.minimum is not None:
            node["minimum"] = spec.minimum
        if spec.maximum is not None:
            node["maximum"] = spec.maximum
    else:
        node = {"type": "array", "items": node}
    description = _description(spec)
    return {"description": description, **node} if description else node


def _struct(name: str, types: TypeTable, *, is_open: bool) -> Node:
    fields = types.fields(name)
    node: Node = {
        "type": "object",
        "properties": {field: _field(spec, types, is_open=is_open) for field, spec in fields.items()},
    }
    required = sorted(field for field, spec in fields.items() if spec.required)
    if required:
        node["required"] = required
    if is_open:
        node[_FREE] = True
    return node


def _description(spec: FieldSpec) -> str:
    parts = [spec.description] if spec.description else []
    is_unset = spec.minimum is not None and isinstance(spec.default, int) and spec.default < spec.minimum
    if spec.default is not None and not is_unset:
        parts.append(f"default: {spec.default}")
    return _sentence("; ".join(parts))


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")


def _move(spec: Node, source: list[str], target: list[str]) -> None:
    """Move the node at ``source`` below ``spec`` to ``target``; what becomes empty is left out."""
    holders: list[tuple[Node, str]] = []
    node = spec
    for step in source:
        properties = node.get("properties", {})
        if step not in properties:
            return
        holders.append((properties, step))
        node = properties[step]
    for properties, step in reversed(holders):
        del properties[step]
        if properties:
            break
    holder = spec
    for step in target[:-1]:
        holder = holder["properties"].setdefault(step, {"type": "object", "properties": {}})
    holder["properties"][target[-1]] = node
