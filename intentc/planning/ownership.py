"""What an object that is there is to us: ours, a copy of ours, somebody else's, or nobody's (docs/engine.md §5.2,
§5.6).

Judged from its mark, its uuid and its kind alone, so that a restart judges the same. What follows from it (adopting,
reporting, deleting) is the planner's business.
"""

from __future__ import annotations

import enum

from intentc.model import Key, Kind, Name, object_uuid
from intentc.model.kind import Relation

from .actual import Actual


class Ownership(enum.Enum):
    """``OURS``: our mark, and the uuid that it gives. ``COPY``: our mark with another uuid, reported and never touched.
    ``OTHERS``: another installation's mark, never touched. ``SYSTEM``: no mark, of a kind that only compilers and the
    server make: adopted where a compiler claims its name. ``USERS``: no mark, of any other kind. Of the last two our
    fields are written, and nothing else."""

    OURS = "ours"
    COPY = "copy"
    OTHERS = "others"
    SYSTEM = "system"
    USERS = "users"


def ownership_of_object(actual: Actual, installation: str) -> Ownership:
    """What ``actual`` is to ``installation``."""
    mark = actual.mark
    if mark is None:
        return Ownership.SYSTEM if actual.kind.system else Ownership.USERS
    if mark.installation != installation:
        return Ownership.OTHERS
    given = object_uuid(installation, actual.name, mark.origin)
    return Ownership.OURS if actual.key.uuid == given else Ownership.COPY


def fits_ours(kind: Kind, fq_name: tuple[str, ...]) -> bool:
    """Whether the name is one that only a compiler gives to an object of this kind."""
    return kind.ours is not None and bool(fq_name) and kind.ours.search(fq_name[-1]) is not None


def is_our_entry(installation: str, relation: Relation, holder: Key, target: Key, fq_name: tuple[str, ...]) -> bool:
    """Whether an entry of a shared list is ours: the target's uuid is the one that we give to an object of its name
    made for ``holder``, or its name fits the relation's pattern. ``fq_name``: the target's."""
    if not fq_name:
        return False
    if relation.ours is not None and relation.ours.search(fq_name[-1]):
        return True
    return target.uuid == object_uuid(installation, Name(relation.name, fq_name), holder.uuid)
