"""Shows resources as documents, and lists the outputs and the statuses of a compile in this form.

Commands, plans and answers show resources so. Statuses are shown apart, since the rest of their resources is input.
Values that the server maintains (permissions, times) and our own mark are left out, so equivalent worlds look the same.
``Gathered`` holds the documents of one moment for an author's code, which runs in a thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from intentc.engine.live import Live
from intentc.inspection.read_secrets import Behind, holders_of_secrets, read_for_each, secrets_in
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Problem, Resource, StatusClaim
from intentc.model.sensitive import cleared_resource, concealed
from intentc.model.status import STATUS, timeless, without_empty
from intentc.model.values import thaw
from intentc.planning import Planner


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


class Gathered:
    """``Compiled`` over resources of one moment: they never change, so threads may read them. Which secrets are behind
    them is looked up when the first is read."""

    def __init__(self, live: Live, kinds: Sequence[str]) -> None:
        self._problems = (*live.states.problem_counts, *live.world.held.values())
        self._by_name = {
            kind: {":".join(resource.fq_name): resource for resource in _readable(live.world, kind)} for kind in kinds
        }
        self._live = live
        self._holders = holders_of_secrets(live.world) if kinds else ()

    @cached_property
    def _behind(self) -> Behind:
        return read_for_each(self._live.world, self._live.planner, self._holders)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, sorted on first use, which is in a thread: there may be many thousands."""
        return tuple(sorted({*self._problems}))

    def objects(self, kind: str) -> Iterator[Mapping[str, Any]]:
        resources = self._by_name[kind].values()
        return map(self._document, sorted(resources, key=lambda resource: resource.fq_name))

    def named(self, kind: str, name: str) -> Mapping[str, Any] | None:
        resource = self._by_name.get(kind, {}).get(name)
        return self._document(resource) if resource is not None else None

    def _document(self, resource: Resource) -> dict[str, Any]:
        behind, document = self._behind.get(resource.name), document_of(resource)
        return cleared_resource(secrets_in(behind), document) if behind else document


def _readable(world: LiveWorld, kind: str) -> Iterator[Resource]:
    for key in world.cache.all(kind):
        try:
            resource = world.resource(key)
        except HeldInput:
            continue
        if resource is not None:
            yield resource


def document_of(resource: Resource) -> dict[str, Any]:
    """Return a resource in the form that ``Compiled`` offers."""
    # Decoded from the stored bytes, which is faster: there may be many thousands.
    kind, stored = resource.kind, msgspec.json.decode(resource.raw)
    fields = (*kind.properties, *(f"{relation}_refs" for relation in kind.relations))
    found = {field: value for field in fields if (value := stored.get(field)) is not None}
    identity = {"kind": kind.name, "uuid": resource.key.uuid, "fq_name": list(resource.fq_name)}
    return concealed(kind, {**identity, **found})
