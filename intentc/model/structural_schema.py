"""Describes a kind as Kubernetes does: structural schema, printer columns, pruned resources.

Why it exists: a CustomResourceDefinition has the schema and the columns, and our Kubernetes-compatible API serves them.
A schema file declares columns by paths of the flat form; a manifest has these fields at other places. A cluster's
resources have many fields that no compiler reads (most of a pod): kinds with ``opaque: true`` accept them and don't
store them, since they would fill etcd, and change without a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc.model.kind import Kind, Property, Writer
from intentc.model.metadata import METADATA
from intentc.model.status import STATUS
from intentc.model.types import SCALARS, FieldSpec, TypeTable


def group_and_version(api_version: str) -> tuple[str, str]:
    """The API group of a manifest's ``apiVersion`` (empty for the core group) and the version's name."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def pruned(kind: Kind, fields: dict[str, Any]) -> dict[str, Any]:
    """``fields`` of a resource in its flat form, without what the schema of ``kind`` does not declare. Fields of
    every kind stay. A value of a wrong type stays, so that admission can say so."""
    return declared_part(kind, fields) if kind.written_as_manifests and kind.opaque else fields


def declared_part(kind: Kind, fields: dict[str, Any]) -> dict[str, Any]:
    """As ``pruned``, of a kind that rejects undeclared fields, too."""
    known = kind.values_type.__struct_fields__
    found = {}
    for field, value in fields.items():
        declared = kind.properties.get(field)
        if declared is not None:
            found[field] = _pruned(kind.types, declared.spec, value)
        elif field in known or field in OF_ANY:
            found[field] = value
    return found


OF_ANY = frozenset({"name", "display_name", "id_perms", "perms2", "configuration_version"})
"""Fields that each resource may have, and that no evaluation reads."""


def _pruned(types: TypeTable, spec: FieldSpec, value: Any) -> Any:
    name = spec.list or spec.type
    if name in SCALARS:
        return value
    fields = types.fields(name)
    if spec.list:
        return [_inner(types, fields, one) for one in value] if isinstance(value, list) else value
    return _inner(types, fields, value)


def _inner(types: TypeTable, fields: Mapping[str, FieldSpec], value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {field: _pruned(types, fields[field], inner) for field, inner in value.items() if field in fields}


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
        if kind.manifests.without_spec:
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


class PrinterColumn(NamedTuple):
    """``type``: as in OpenAPI, or ``date``, which is shown as an age. ``steps``: the path in a manifest; ``[]``
    flattens a list."""

    name: str
    type: str
    steps: tuple[str, ...]

    @property
    def json_path(self) -> str:
        """The path as in a CustomResourceDefinition: ``.spec.prefix``."""
        return "".join("[*]" if step == "[]" else f".{step}" for step in self.steps)


AGE = PrinterColumn("Age", "date", ("metadata", "creationTimestamp"))


def printer_columns(kind: Kind, version: str) -> tuple[PrinterColumn, ...]:
    """The columns after the name, for manifests with this ``apiVersion``; the age is the last."""
    schema = structural_schema(kind, version)
    found = []
    for column in kind.columns:
        steps = _in_manifest(kind, version, column.path)
        found.append(PrinterColumn(column.name, _type(schema, steps), steps))
    return (*found, AGE)


def _in_manifest(kind: Kind, version: str, path: tuple[str, ...]) -> tuple[str, ...]:
    if kind.manifests.without_spec or path[0] in (METADATA, STATUS):
        return path
    for old, new in kind.manifests.versions.get(version, {}).items():
        moved = tuple((new or "").split("."))
        if path[: len(moved)] == moved:
            return ("spec", *old.split("."), *path[len(moved) :])
    return ("spec", *path)


def _type(schema: Node, steps: tuple[str, ...]) -> str:
    node = schema
    for step in steps:
        node = node.get("items", {}) if step == "[]" else node.get("properties", {}).get(step, {})
    found = node.get("type", "string")
    return found if found in ("boolean", "integer", "number", "string") else "string"
