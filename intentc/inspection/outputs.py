"""Lists the outputs and the statuses of a compile, and shows a resource as one object with the fields of its kind.

Commands, plans and answers show resources so. Statuses are shown apart, since the rest of their resources is input.
Values that the server maintains (permissions, times) and our own mark are left out, so equivalent worlds look the same.
``why/outputs.py`` lists what follows from one input. It reads the engine, or the resources that it gets, and changes
nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ..logic import LiveWorld
from ..model import HeldInput, Resource, StatusClaim
from ..model.status import STATUS, timeless, without_empty
from ..model.values import thaw
from ..planning import Planner


def lower_level(world: LiveWorld, planner: Planner) -> Iterator[Resource]:
    """Yield the objects that compilers made, and those on which they write a field; in no order."""
    for key in world.cache:
        with contextlib.suppress(HeldInput):
            resource = world.resource(key)
            if resource is not None and (resource.mark is not None or planner.book.is_written(resource.name)):
                yield resource


def shown(resource: Resource) -> dict[str, Any]:
    """Return ``{"kind", "uuid", "fq_name", "parent_type"?, "parent_uuid"?, field: value …, relation_refs: [{"to",
    "uuid", "attr"?}] …}`` without default values, references sorted by name."""
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


def statuses(world: LiveWorld, planner: Planner) -> list[dict[str, Any]]:
    """Return the statuses in which compilers claim something: ``{"kind", "fq_name", "status"}`` each, by kind, then
    fq_name. Conditions have no time: the same world looks the same."""
    found = []
    for name in sorted(planner.book.names()):
        key = world.named(name.kind, name.fq_name)
        if key is None or not any(isinstance(c, StatusClaim) for own in planner.book.on(name).values() for c in own):
            continue
        with contextlib.suppress(HeldInput):
            resource = world.resource(key)
            status = timeless(getattr(resource.values(), STATUS)) if resource is not None else None
            if status:
                found.append({"kind": name.kind, "fq_name": list(name.fq_name), STATUS: without_empty(thaw(status))})
    return found


def in_order(resources: Iterator[Resource]) -> list[Resource]:
    """Sort by kind, then fq_name."""
    return sorted(resources, key=lambda resource: (resource.key.kind, resource.fq_name))
