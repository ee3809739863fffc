"""Leaves out of a resource the fields that its schema does not declare.

Why it exists: a cluster's resources have many fields that no compiler reads (most of a pod). Kinds with
``opaque: true`` accept them, since they are right, and don't store them: they would fill etcd, and change without a
meaning. ``declared_part`` prunes resources of any kind; what rejects undeclared fields is not here.

Pure functions of plain JSON, which they don't change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .kind import Kind
from .types import SCALARS, FieldSpec, TypeTable


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
