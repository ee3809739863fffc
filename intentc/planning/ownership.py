"""Decides whose an existing object is: ours, a copy of ours, another installation's, the system's or a user's; and
whether an entry of a shared list is ours (docs/engine.md §5.2, §5.6).

Decided only from marks, uuids, names, attributes and the schema, so that a restart decides alike; the rules on values
are in ``model/ownership.py``. The planner decides what follows (adopting, reporting, deleting).

It reads the object and the assumptions that it gets, and changes nothing.
"""

from __future__ import annotations

import enum

from intentc.model import HeldInput, Key, Kind, ReferenceValue, object_uuid
from intentc.model.kind import Relation
from intentc.model.ownership import fits, is_our_entry

from .actual import Actual
from .assumed import Assumed


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
