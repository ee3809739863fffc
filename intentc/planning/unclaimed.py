"""Decides whether a stored object still shows something of ours that nobody claims (docs/engine.md §8).

It compares what is stored with the claims of now, whatever keeps the rest of the object from being written: another
intent's problem, a name that is taken, a user's reference. The existence of an object is no content: what stands for an
allocation exists for one owner, whose mark it has.

It reads the draft, the object and the assumptions that it gets, and changes none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from intentc.model import (
    AddReference,
    Operation,
    PropertyClaim,
    ReferenceClaim,
    RemoveReference,
    ResourceClaim,
    Update,
    UpdateStatus,
)
from intentc.model.status import STATUS

from .actual import Actual
from .assumed import Assumed
from .desired import Draft
from .diff import default_of, part_at
from .merge import default_attribute
from .ownership import writes_entry


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
