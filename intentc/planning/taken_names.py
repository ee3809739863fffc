"""Decides whether an object that somebody else made may be the one that an intent claims, and if not, what is left to
write of it.

The object stays the user's, and whoever wants the name gets nothing of it: the fields that its own object would have
stay as the user gave them. What other intents claim of the object is written as on any user's object
(docs/engine.md §5.6). ``planner`` plans with it. Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from intentc.model import (
    SHARED,
    AddReference,
    Claim,
    Key,
    Operation,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    RemoveReference,
    ResourceClaim,
    Update,
)

from .actual import Actual
from .merge import Desired

Claims = Mapping[Key, tuple[Claim, ...]]


class Others(NamedTuple):
    """The claims of those who don't want the name for themselves, and the fields that the others would write."""

    claims: Claims
    left_alone: frozenset[str]


def may_adopt(desired: Desired, actual: Actual) -> bool:
    """Whether what is claimed may be an object that somebody else made."""
    if not desired.exists:
        return True
    return desired.owner == SHARED and all(actual.value(field) == value for field, value in desired.properties.items())


def of_others(claims: Claims) -> Others:
    """Separate the claims on a user's object from those of who wants its name."""
    others: dict[Key, tuple[Claim, ...]] = {}
    left_alone: set[str] = set()
    for origin, found in claims.items():
        if any(isinstance(claim, ResourceClaim) for claim in found):
            left_alone.update(field for claim in found for field in _fields(claim))
        else:
            others[origin] = found
    return Others(others, frozenset(left_alone))


def without_fields(operations: Iterable[Operation], fields: Collection[str]) -> list[Operation]:
    """The writes of an object that stays, without those of ``fields``."""
    found: list[Operation] = []
    for operation in operations:
        match operation:
            case Update(properties=properties, references=references):
                kept = {field: value for field, value in properties.items() if field not in fields}
                lists = {relation: entries for relation, entries in references.items() if relation not in fields}
                if kept or lists:
                    found.append(operation._replace(properties=kept, references=lists))
            case AddReference(relation=relation) | RemoveReference(relation=relation) if relation in fields:
                pass
            case _:
                found.append(operation)
    return found


def _fields(claim: Claim) -> Iterable[str]:
    match claim:
        case ResourceClaim(properties=properties):
            return (field for field, _ in properties)
        case PropertyClaim(field=field):
            return (field.partition(".")[0],)
        case ReferenceClaim(relation=relation) | RelationClaim(relation=relation):
            return (relation,)
    return ()
