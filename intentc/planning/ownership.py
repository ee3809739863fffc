"""Decides whose an existing object is: ours, a copy of ours, another installation's, the system's or a user's
(docs/engine.md §5.2, §5.6).

Decided only from its mark, its uuid and its kind, so that a restart decides alike. The planner decides what follows
(adopting, reporting, deleting).
"""

from __future__ import annotations

import enum

from intentc.model import Key, Kind, Name, ReferenceValue, object_uuid
from intentc.model.kind import Relation

from .actual import Actual


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


def fits_ours(kind: Kind, fq_name: tuple[str, ...]) -> bool:
    """Whether only a compiler gives this name to an object of this kind."""
    return kind.ours is not None and kind.ours.search(":".join(fq_name)) is not None


def is_our_entry(installation: str, relation: Relation, holder: Key, entry: ReferenceValue) -> bool:
    """Whether an entry of a shared list is ours: the target's uuid is the one that we give to an object of its name
    made for ``holder``, or its name matches the relation's pattern, or it has the relation's own attribute."""
    if relation.ours_with is not None and entry.attribute == relation.ours_with:
        return True
    if not entry.fq_name:
        return False
    if relation.ours is not None and relation.ours.search(entry.fq_name[-1]):
        return True
    return entry.key.uuid == object_uuid(installation, Name(relation.name, entry.fq_name), holder.uuid)
