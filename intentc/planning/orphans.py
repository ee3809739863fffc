"""Finds what of ours nobody claims: objects, and values in objects that stay (docs/engine.md §5.5 to §5.7, §8).

Claimants are never stored, so after a restart orphans are known only after the first complete pass. ``find_orphans``
finds the candidates; whether and when each is deleted is decided when it is planned. ``shows_unclaimed`` looks at one
stored object, whatever keeps the rest of it from being written: another intent's problem, a name that is taken, a
user's reference. The existence of an object is no content: what stands for an allocation exists for one owner, whose
mark it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from intentc.model import (
    AddReference,
    HeldInput,
    Kind,
    Name,
    Operation,
    PropertyClaim,
    ReferenceClaim,
    RemoveReference,
    Resource,
    ResourceClaim,
    Schema,
    Update,
    UpdateStatus,
)
from intentc.model.ownership import fits
from intentc.model.status import STATUS, STATUS_CLAIMS, claims_of

from .actual import Actual
from .assumed import Assumed
from .claims import ClaimBook
from .deletion import abandoned
from .desired import Draft
from .diff import default_of, part_at
from .merge import default_attribute
from .ownership import Ownership, exists_only_claimed, ownership_of_object, writes_entry


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
                elif _carries_status(resource, installation) or (
                    any(trace in resource.raw for trace in traces) and _carries_ours(resource, installation, assumed)
                ):
                    fields.add(resource.name)
    return Orphans(objects, frozenset(fields), owned)


def _traces(kind: Kind) -> tuple[bytes, ...]:
    """What the stored bytes contain if a field of ours is set: it rules out most objects without decoding them."""
    relations = (*kind.compiler_relations, *kind.shared_relations)
    return tuple(f'"{field}"'.encode() for field in (*kind.compiler_properties, *(f"{r}_refs" for r in relations)))


def _carries_status(resource: Resource, installation: str) -> bool:
    """Whether a stored resource has items of status that this installation wrote."""
    actual = Actual.seen(resource)
    return actual.has_status_claims and bool(claims_of(actual.value(STATUS_CLAIMS), installation))


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


def shows_unclaimed(draft: Draft, actual: Actual, assumed: Assumed, installation: str, *, made: bool) -> bool:
    """Whether ``actual`` shows something of ours that nobody claims. ``draft``: has the writes that nothing may hold
    back; ``made``: we made the object."""
    return any(_takes_something(operation, actual, assumed) for operation in draft.operations) or any(
        _disputed_remains(draft, actual, assumed, installation, made=made)
    )


def _is_set(actual: Actual, field: str) -> bool:
    return actual.value(field) not in (None, default_of(actual.kind, field))


def _takes_something(operation: Operation, actual: Actual, assumed: Assumed) -> bool:
    """Whether a write removes or replaces something that is stored, and does not only add."""
    match operation:
        case Update(properties=properties, references=lists):
            return any(_is_set(actual, field) for field in properties) or any(
                entry not in entries
                for relation, entries in lists.items()
                for entry in assumed.entries(actual, relation).values()
            )
        case AddReference(relation=relation, target=entry):
            return entry.key in assumed.entries(actual, relation)
        case RemoveReference():
            return True
        case UpdateStatus(parts=parts):
            declared, stored = actual.kind.status, actual.value(STATUS)
            return declared is not None and any(declared.is_set(stored, item) for item in parts)
    return False


def _disputed_remains(
    draft: Draft, actual: Actual, assumed: Assumed, installation: str, *, made: bool
) -> Iterator[bool]:
    """For each part that stays since contributors disagree: whether it is stored as none of them claims it."""
    kind, claims = draft.kind, [claim for claims in draft.claims.values() for claim in claims]
    for item in draft.desired.disputed:
        if isinstance(item, str):
            field, _, inner = item.partition(".")
            if field in kind.properties and _is_set(actual, field):
                stored = actual.value(field)
                yield (part_at(stored, inner) if inner else stored) not in _claimed_values(draft, item)
            continue
        relation = item[0]
        declared, entries = kind.relations[relation], assumed.entries(actual, relation)
        attributes = [
            default_attribute(kind, relation) if claim.attribute is None else claim.attribute
            for claim in claims
            if isinstance(claim, ReferenceClaim) and (claim.relation, claim.target) == item
        ]
        for key in assumed.leading_to(relation, entries, {item}):
            entry = entries[key]
            is_ours = relation in kind.written(made=made).relations or writes_entry(
                installation, assumed, declared, actual.key, entry, made=made
            )
            yield is_ours and entry.attribute not in attributes


def _claimed_values(draft: Draft, item: str) -> list[Any]:
    """What the contributors claim of a property, or of a part of one."""
    found = []
    for claims in draft.claims.values():
        for claim in claims:
            if isinstance(claim, PropertyClaim) and claim.field == item:
                found.append(claim.value)
            elif isinstance(claim, ResourceClaim):
                found += [value for field, value in claim.properties if field == item]
    return found
