"""The lower-level resources as people see them: whole objects, with the fields that their kind declares.

``compile`` prints them, ``dev`` shows what came of the loaded files. What the server keeps for itself (permissions,
times) and our own mark are left out, so that two worlds that mean the same look the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..engine.parts import Parts
from ..model import HeldInput, Resource
from ..model.values import thaw


def lower_level(parts: Parts) -> Iterator[Resource]:
    """What compilers made, and whole objects on which they write a field; in no order."""
    for key in parts.logic.cache:
        with contextlib.suppress(HeldInput):
            resource = parts.logic.resource(key)
            if resource is not None and (resource.mark is not None or resource.name in parts.book):
                yield resource


def shown(resource: Resource) -> dict[str, Any]:
    """``{"kind", "uuid", "fq_name", "parent_type"?, "parent_uuid"?, field: value …, relation_refs: [{"to", "uuid",
    "attr"?}] …}``, defaults left out, references sorted by name."""
    kind, values = resource.kind, resource.values()
    found: dict[str, Any] = {"kind": kind.name, "uuid": resource.key.uuid, "fq_name": list(resource.fq_name)}
    if resource.parent is not None:
        found["parent_type"] = values.parent_type
        found["parent_uuid"] = resource.parent.uuid
    for field, declared in sorted(kind.properties.items()):
        value = getattr(values, field)
        if value != kind.types.field(declared.spec)[1]:
            found[field] = thaw(value)
    for relation in sorted(kind.relations):
        entries = sorted(kind.references_of(values, relation), key=lambda entry: (entry.to, entry.uuid))
        if entries:
            found[f"{relation}_refs"] = [
                {"to": list(entry.to), "uuid": entry.uuid}
                | ({"attr": thaw(entry.attribute)} if entry.attribute else {})
                for entry in entries
            ]
    return found


def in_order(resources: Iterator[Resource]) -> list[Resource]:
    """Sorted by kind, then fq_name."""
    return sorted(resources, key=lambda resource: (resource.key.kind, resource.fq_name))
