"""Decides what may be removed now, which objects will be deleted, and what prevents that (docs/engine.md §5.7, §6.4,
§7).

``Removals``: nothing is removed before the first pass is complete, nothing that a held intent may still want, and
nothing of a compiler that is not loaded. A removal that must wait is noted in the draft, so that the object is planned
again when the reason ends. ``DeleteGuard``: a wrong configuration, a lost prefix or a faulty compiler shows as a pass
that would delete a large part of our objects; it is withheld per kind until a person allows it. ``Deletion``: the
server rejects the deletion of an object with children or references to it, unless the relation is derived. References
of ours end when their holders are planned; a user's reference is reported.

State: what the guard withholds, what is approved, and the deleted owners whose objects don't count, in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple
from uuid import UUID

from intentc.model import SHARED, HeldInput, Key, Kind, Name, ReferenceValue, Resource, ResourceClaim, Schema
from intentc.model.reads import PARENT

from .actual import Actual
from .assumed import Assumed
from .claims import EXISTENCE, LATER, ClaimBook, Item
from .desired import DesiredObjects, Draft
from .diff import MayRemove
from .ownership import Ownership, exists_only_claimed, ownership_of_object, writes_entry


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


MAX_DELETES = 50
MAX_SHARE = 0.05
"""A pass may delete the larger of the two: this many objects of a kind, or this share of our objects of the kind."""


class DeleteGuard:
    """Withholds the excess deletes of a pass. ``max_deletes``, ``max_share``: the limits."""

    def __init__(self, max_deletes: int = MAX_DELETES, max_share: float = MAX_SHARE) -> None:
        self._max_deletes = max_deletes
        self._max_share = max_share
        self.deleted_owners: set[str] = set()
        """Owners whose delete event was seen live: their objects don't count until ``forget``."""
        self.withheld: dict[str, frozenset[Name]] = {}
        """Kind → the objects whose deletion is withheld."""
        self._allowed: set[Name] = set()

    def owner_deleted(self, uuid: str) -> None:
        self.deleted_owners.add(uuid)

    def forget(self, owners: Set[str]) -> None:
        """Forget deleted owners that have no objects left; an owner that was created again counts again."""
        self.deleted_owners -= owners

    def sift(self, orphans: Mapping[Name, str], owned: Mapping[str, int]) -> None:
        """A pass would delete ``orphans`` (name → the origin in its mark) out of ``owned`` objects per kind: withhold
        all of a kind with too many. Replaces what earlier passes withheld."""
        counted: dict[str, set[Name]] = {}
        self._allowed.intersection_update(orphans)
        for name, origin in orphans.items():
            if origin not in self.deleted_owners and name not in self._allowed:
                counted.setdefault(name.kind, set()).add(name)
        self.withheld = {
            kind: frozenset(names)
            for kind, names in counted.items()
            if len(names) > max(self._max_deletes, self._max_share * owned.get(kind, 0))
        }

    def holds(self, name: Name) -> bool:
        """Whether the deletion of this object needs approval."""
        return name in self.withheld.get(name.kind, ())

    def allow(self, kind: str) -> frozenset[Name]:
        """Approve the withheld deletes of one kind; the approval holds until the objects are deleted, even if a later
        pass finds them again. Returns the objects to plan again."""
        allowed = self.withheld.pop(kind, frozenset())
        self._allowed |= allowed
        return allowed


class Blockers(NamedTuple):
    """``holders``: objects that still refer to it. ``users``: those of them, as ``kind name``, whose references we will
    not remove."""

    holders: frozenset[Name]
    users: tuple[str, ...]


class Deletion:
    """What the claims in ``book`` and the store that is ``assumed`` mean for the existence of objects."""

    def __init__(
        self,
        schema: Schema,
        installation: str,
        *,
        book: ClaimBook,
        assumed: Assumed,
        desired: DesiredObjects,
        removals: Removals,
        guard: DeleteGuard,
    ) -> None:
        self._schema = schema
        self._installation = installation
        self._book = book
        self._assumed = assumed
        self._desired = desired
        self._removals = removals
        self._guard = guard

    def blockers(self, actual: Actual) -> Blockers:
        """What prevents the deletion of ``actual`` now."""
        holders: set[Name] = set()
        users: set[str] = set()
        for holder_kind, relation in self._schema.referring.get(actual.kind.name, ()):
            if not _blocks(holder_kind, relation, actual.kind.name):
                continue
            for key in self._assumed.holders(actual.key, holder_kind.name, relation):
                if key == actual.key:
                    continue
                try:
                    holder = self._assumed.at(key)
                except HeldInput as held:
                    users.add(f"{held.name or key} (which can't be read)")
                    if held.name is not None:
                        holders.add(held.name)
                    continue
                if holder is not None:
                    holders.add(holder.name)
                    if not self._lets_go(holder, relation, actual):
                        users.add(str(holder.name))
        return Blockers(frozenset(holders), tuple(sorted(users)))

    def is_doomed(self, draft: Draft, actual: Actual) -> bool:
        """Whether an object will be deleted as soon as no object refers to it. ``draft``: the plan that needs to know;
        if that deletion is deferred, so is a part of this plan."""
        name = actual.name
        if actual.mark is None and (self._book.on(name) or not exists_only_claimed(actual.kind, name.fq_name)):
            # Only what nobody claims is ever deleted then. Known without merging the claims of each target of the plan.
            return False
        other = self._desired.draft(actual.kind, name)
        match ownership_of_object(actual, self._installation):
            case Ownership.OURS if other.desired.exists:
                unwanted = is_replaced(self._schema, other, actual)
            case Ownership.OURS:
                unwanted = not self._guard.holds(name)
            case Ownership.SYSTEM:
                unwanted = self.is_needless(other, actual) and not self._guard.holds(name)
            case _:
                return False
        may_delete = unwanted and self._removals.may_remove(other, actual)(EXISTENCE)
        draft.deferred |= other.deferred
        # While users' references keep it, it is present for our references as well.
        return may_delete and not self.blockers(actual).users

    def is_needless(self, draft: Draft, actual: Actual) -> bool:
        """Whether an object without mark is deleted since nobody claims it, though its parent exists."""
        if draft.claims or not exists_only_claimed(draft.kind, draft.name.fq_name):
            return False
        return not abandoned(self._assumed, actual)

    def without_cycle(self, draft: Draft, actual: Actual) -> dict[str, tuple[ReferenceValue, ...]]:
        """relation → the entries that remain in ``actual``, which is to be deleted and waits for its holders, without
        those for doomed objects that wait for it in turn. Empty if there is no such cycle."""
        changes = {}
        for relation in actual.kind.relations:
            entries = self._assumed.entries(actual, relation)
            kept = tuple(e for e in entries.values() if not self._leads_to(e.key, actual.key, draft, {actual.key}))
            if len(kept) < len(entries):
                changes[relation] = kept
        return changes

    def _leads_to(self, key: Key, goal: Key, draft: Draft, passed: set[Key]) -> bool:
        """Whether ``key`` refers to ``goal``, through any number of doomed objects."""
        if key in passed:
            return False
        passed.add(key)
        try:
            actual = self._assumed.at(key)
        except HeldInput:
            return False
        if actual is None or not self.is_doomed(draft, actual):
            return False
        targets = [target for relation in actual.kind.relations for target in self._assumed.entries(actual, relation)]
        return goal in targets or any(self._leads_to(target, goal, draft, passed) for target in targets)

    def _lets_go(self, holder: Actual, relation: str, target: Actual) -> bool:
        """Whether planning ``holder`` will end its reference to ``target``."""
        ownership = ownership_of_object(holder, self._installation)
        if ownership in (Ownership.COPY, Ownership.OTHERS):
            return False
        if relation == PARENT:
            return ownership is Ownership.OURS
        made, declared = ownership is Ownership.OURS, holder.kind.relations[relation]
        written = holder.kind.written(made=made)
        if not made and relation not in (*written.relations, *written.shared):
            return False
        wanted, item = self._desired.of(holder.kind, holder.name), (relation, target.name)
        if made and not wanted.exists:
            return True
        if relation in wanted.kept or item in wanted.disputed:
            return False
        if relation in written.relations or item in wanted.unwanted:
            return True
        entry = self._assumed.entries(holder, relation).get(target.key)
        if entry is None or relation not in written.shared:
            return False
        return writes_entry(self._installation, self._assumed, declared, holder.key, entry, made=made)


def abandoned(assumed: Assumed, actual: Actual | Resource) -> bool:
    """Whether the parent that gives the object its meaning was deleted."""
    return bool(actual.kind.parents) and (actual.parent is None or not assumed.present(actual.parent))


def _blocks(holder_kind: Kind, relation: str, target_kind: str) -> bool:
    if relation == PARENT:
        return any(parent.kind == target_kind and not parent.derived for parent in holder_kind.parents)
    declared = holder_kind.relations.get(relation)
    return declared is not None and not declared.derived
