"""Finds orphans: objects and fields of ours without a claim (docs/engine.md §5.5 to §5.7).

Claimants are never stored, so after a restart orphans are known only after the first complete pass. This module finds
the candidates; whether and when each is deleted is decided when it is planned.

It reads the claims, the cache and the assumptions, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from intentc.model import HeldInput, Kind, Name, Resource, Schema
from intentc.model.ownership import fits

from .actual import Actual
from .assumed import Assumed
from .claims import ClaimBook
from .deletion import abandoned
from .diff import default_of
from .ownership import Ownership, exists_only_claimed, ownership_of_object, writes_entry
from .status import carries_status


class Orphans(NamedTuple):
    """``objects``: what would be deleted, name → the origin in its mark; without a mark the uuid of its parent, ``""``
    if that is absent. ``fields``: objects that we did not make and that carry values of ours, and all that have a
    finalizer of ours. ``owned``: kind → the number of objects with our mark."""

    objects: Mapping[Name, str]
    fields: frozenset[Name]
    owned: Mapping[str, int]


def find_orphans(
    schema: Schema,
    installation: str,
    compiler_of_kind: Mapping[str, str],
    book: ClaimBook,
    assumed: Assumed,
    has_finalizer: Callable[[Actual], bool] = lambda actual: False,
) -> Orphans:
    """All orphans of the kinds whose compiler is loaded. Objects that can't be read are left out. ``has_finalizer``:
    whether an object has a finalizer of ours."""
    objects: dict[Name, str] = {}
    fields: set[Name] = set()
    owned: dict[str, int] = {}
    reader = assumed.reader
    loaded = frozenset(compiler_of_kind.values())
    for kind in schema:
        if not kind.stored or kind.name not in compiler_of_kind:
            continue
        traces = _traces(kind)
        for key in reader.select(kind.name, "all", ""):
            try:
                resource = reader.resource(key)
            except HeldInput:
                continue
            if resource is None:
                continue
            mark, unclaimed = resource.mark, resource.name not in book
            if unclaimed and b'"finalizers"' in resource.raw and has_finalizer(Actual.seen(resource)):
                fields.add(resource.name)
            if mark is not None and mark.installation == installation and mark.compiler in loaded:
                owned[kind.name] = owned.get(kind.name, 0) + 1
                if unclaimed and ownership_of_object(Actual.seen(resource), installation) is Ownership.OURS:
                    objects[resource.name] = mark.origin
            elif mark is None and unclaimed:
                if fits(kind.ours, resource.fq_name) and kind.system and abandoned(assumed, resource):
                    objects[resource.name] = ""
                elif exists_only_claimed(kind, resource.fq_name):
                    objects[resource.name] = resource.parent.uuid if resource.parent is not None else ""
                elif carries_status(resource, installation) or (
                    any(trace in resource.raw for trace in traces) and _carries_ours(resource, installation, assumed)
                ):
                    fields.add(resource.name)
    return Orphans(objects, frozenset(fields), owned)


def _traces(kind: Kind) -> tuple[bytes, ...]:
    """What the stored bytes contain if a field of ours is set: it rules out most objects without decoding them."""
    relations = (*kind.compiler_relations, *kind.shared_relations)
    return tuple(f'"{field}"'.encode() for field in (*kind.compiler_properties, *(f"{r}_refs" for r in relations)))


def _carries_ours(resource: Resource, installation: str, assumed: Assumed) -> bool:
    kind, actual = resource.kind, Actual.seen(resource)
    if any(actual.value(field) != default_of(kind, field) for field in kind.compiler_properties):
        return True
    if any(actual.references(relation) for relation in kind.compiler_relations):
        return True
    return any(
        writes_entry(installation, assumed, kind.relations[relation], actual.key, entry, made=False)
        for relation in kind.shared_relations
        for entry in assumed.entries(actual, relation).values()
    )
