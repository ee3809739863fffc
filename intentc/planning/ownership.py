"""Decides whose an existing object is, whether an entry of a shared list is ours, and what may be written of an object
whose name is taken (docs/engine.md §5.2, §5.6).

Decided only from marks, uuids, names, attributes and the schema, so that a restart decides alike; the rules on values
are in ``model/ownership.py``. An object that somebody else made stays theirs, and whoever wants its name gets nothing
of it: the fields that its own object would have stay as they are. What other intents claim of it is written as on any
user's object.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from intentc.model import (
    SHARED,
    Claim,
    HeldInput,
    Key,
    Kind,
    PropertyClaim,
    ReferenceClaim,
    ReferenceValue,
    RelationClaim,
    ResourceClaim,
    object_uuid,
)
from intentc.model.kind import Relation
from intentc.model.ownership import fits, is_our_entry

from .actual import Actual
from .assumed import Assumed
from .merge import Desired


class Ownership(enum.Enum):
    """``OURS``: our mark, and the uuid that follows from it. ``COPY``: our mark with another uuid; reported, never
    touched. ``OTHERS``: another installation's mark; never touched. ``SYSTEM``: no mark, and a kind that only compilers
    and the server make; adopted if a compiler claims its name. ``USERS``: no mark, any other kind; only our fields are
    written."""

    OURS = "ours"
    COPY = "copy"
    OTHERS = "others"
    SYSTEM = "system"
    USERS = "users"


def ownership_of_object(actual: Actual, installation: str) -> Ownership:
    """The ownership of ``actual`` from the viewpoint of ``installation``."""
    mark = actual.mark
    if mark is None:
        return Ownership.SYSTEM if actual.kind.system else Ownership.USERS
    if mark.installation != installation:
        return Ownership.OTHERS
    given = object_uuid(installation, actual.name, mark.origin)
    return Ownership.OURS if actual.key.uuid == given else Ownership.COPY


def exists_only_claimed(kind: Kind, fq_name: tuple[str, ...]) -> bool:
    """Whether an object of this kind and name that nobody claims is deleted though it lacks our mark."""
    return fits(kind.only_claimed, fq_name) and fits(kind.ours, fq_name)


def writes_entry(
    installation: str, assumed: Assumed, relation: Relation, holder: Key, entry: ReferenceValue, *, made: bool
) -> bool:
    """Whether an entry of a shared list is ours. ``made``: we made the holder; then an entry for another object that
    we made is ours as well."""
    try:
        target = assumed.at(entry.key) if made or not entry.fq_name else None
    except HeldInput:
        target = None
    return is_our_entry(
        relation,
        holder.uuid,
        target=entry.fq_name or (target.fq_name if target is not None else ()),
        uuid=entry.key.uuid,
        attribute=entry.attribute,
        installation=installation,
        both_made=made and target is not None and ownership_of_object(target, installation) is Ownership.OURS,
    )


Claims = Mapping[Key, tuple[Claim, ...]]


def may_adopt(desired: Desired, actual: Actual) -> bool:
    """Whether what is claimed may be an object that somebody else made."""
    if not desired.exists:
        return True
    return desired.owner == SHARED and all(actual.value(field) == value for field, value in desired.properties.items())


def of_others(claims: Claims) -> tuple[Claims, frozenset[str]]:
    """The claims on a user's object of those who don't want its name, and the fields that the others would write."""
    others: dict[Key, tuple[Claim, ...]] = {}
    left_alone: set[str] = set()
    for origin, found in claims.items():
        if any(isinstance(claim, ResourceClaim) for claim in found):
            left_alone.update(field for claim in found for field in _fields(claim))
        else:
            others[origin] = found
    return others, frozenset(left_alone)


def _fields(claim: Claim) -> Iterable[str]:
    match claim:
        case ResourceClaim(properties=properties):
            return (field for field, _ in properties)
        case PropertyClaim(field=field):
            return (field.partition(".")[0],)
        case ReferenceClaim(relation=relation) | RelationClaim(relation=relation):
            return (relation,)
    return ()
