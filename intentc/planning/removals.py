"""Decides what may be removed from an object now: nothing before the first pass is complete, nothing that a held intent
may still want, and nothing of a compiler that is not loaded (docs/engine.md §5.7, §7).

Planning asks for each removal. One that must wait for a pass or for an intent is noted in the draft, so that the object
is planned again when the reason ends.

It reads the claim book and whether intents are held, and changes the drafts that it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from intentc.model import SHARED, Key, ResourceClaim, Schema

from .actual import Actual
from .claims import EXISTENCE, LATER, ClaimBook, Item
from .desired import Draft
from .diff import MayRemove


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


class Removals:
    """``held(origin)``: whether what this intent contributed must stay. ``compiler_of_kind``: as of ``Planner``."""

    def __init__(self, book: ClaimBook, held: Callable[[Key], bool], compiler_of_kind: Mapping[str, str]) -> None:
        self._book = book
        self._held = held
        self._compiler_of_kind = compiler_of_kind
        self._compilers = frozenset(compiler_of_kind.values())

    def may_remove(self, draft: Draft, actual: Actual) -> MayRemove:
        """Decides what may be removed from an object now, and whether it may be deleted (docs/engine.md §5.7, §7)."""
        book, mark = self._book, actual.mark

        def defer(until: str) -> bool:
            draft.deferred.add((draft.name, until))
            return False

        def may(item: Item) -> bool:
            if mark is not None and mark.compiler not in self._compilers:
                return False
            if not book.complete:
                return defer(LATER)
            for origin in draft.claims:
                if self._held(origin):
                    return defer(origin.uuid)
            if mark is not None and self.is_origin_held(mark.origin):
                return defer(mark.origin)
            # The intent on its parent may be the one that will claim it.
            if item == EXISTENCE and mark is None and actual.parent is not None and self._held(actual.parent):
                return defer(actual.parent.uuid)
            # An object of a resource is deleted with it, whatever other claims say. An object of a fact may lack its
            # claim only because a held intent does not yield that fact.
            owned = item == EXISTENCE and mark is not None and mark.origin != SHARED and is_resource(mark.origin)
            if book.unknown and not owned and item not in book.withdrawn(draft.name):
                return defer(LATER)
            return True

        return may

    def may_clear(self, draft: Draft) -> MayRemove:
        """Decides which items of the status may be cleared now. Unlike other claims, those of status may be known of an
        intent that is on hold (docs/engine.md §4.5)."""
        book = self._book

        def may(item: Item) -> bool:
            until = next((o.uuid for o in draft.claims if self._held(o) and not book.knows_status(o)), None)
            if not book.complete or (until is None and book.unknown_status and item not in book.withdrawn(draft.name)):
                until = LATER
            if until is not None:
                draft.deferred.add((draft.name, until))
            return until is None

        return may

    def is_origin_held(self, origin: str) -> bool:
        """Whether the origin in a mark is held; the mark lacks the kind."""
        return origin not in {"", SHARED} and any(self._held(Key(kind, origin)) for kind in self._compiler_of_kind)
