"""Decides whether an object will be deleted, and what prevents it: its holders, and whether their references will end
(docs/engine.md §6.4).

The server rejects the deletion of an object with children or references to it, unless the relation is derived.
References of ours end when their holders are planned; a user's reference is reported. ``planner`` decides what becomes
of an object that stays.

It reads the claims, the assumptions and the guard, and changes only drafts that it is given: what is deferred.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.model import HeldInput, Key, Kind, Name, ReferenceValue, Resource, Schema
from intentc.model.reads import PARENT

from .actual import Actual
from .assumed import Assumed
from .claims import EXISTENCE, ClaimBook
from .desired import DesiredObjects, Draft
from .guard import DeleteGuard
from .ownership import Ownership, exists_only_claimed, ownership_of_object, writes_entry
from .removals import Removals, is_replaced


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
