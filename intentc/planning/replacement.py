"""Decides whether an object of ours must be deleted and created again, since it has another owner or parent now.

Why apart: an object keeps its uuid and its mark for life, so whoever owns it by the mark must be who claims it.
``planner`` decides when the deletion may be made. ``is_resource`` distinguishes owners that are resources from facts.

Pure functions of values.
"""

from __future__ import annotations

from uuid import UUID

from intentc.model import SHARED, ResourceClaim, Schema

from .actual import Actual
from .draft import Draft


def is_replaced(schema: Schema, draft: Draft, actual: Actual) -> bool:
    """Whether the object of this name must be deleted and created again: another owner, or another parent.

    An object that several intents share stays when it also gets an owner: a replacement would remove it from all its
    holders for a moment, or for as long as one of them can't be written. It is replaced only for an owner that must
    recognise its target by the uuid (``writes_entry``)."""
    desired = draft.desired
    if desired.owner is None or actual.mark is None:
        return False
    if desired.owner != actual.mark.origin and not (
        actual.mark.origin == SHARED and not _owner_knows_by_uuid(schema, draft)
    ):
        return True
    parent = desired.parent
    return parent is not None and (actual.parent is None or actual.parent.uuid != parent.key.uuid)


def is_resource(origin: str) -> bool:
    """Whether the origin in a mark is a stored resource (a uuid) and not a fact (a name)."""
    try:
        UUID(origin)
    except ValueError:
        return False
    return True


def _owner_knows_by_uuid(schema: Schema, draft: Draft) -> bool:
    """Whether the owner refers to such objects by a shared list, where the uuid identifies its own entries."""
    owner = draft.desired.owner
    kinds = {
        origin.kind
        for origin, claims in draft.claims.items()
        if any(isinstance(claim, ResourceClaim) and claim.owner == owner for claim in claims)
    }
    return any(draft.name.kind in schema.kinds[kind].shared_relations for kind in kinds if kind in schema.kinds)
