"""Finds what prevents the deletion of an object: its holders, and whether their references will end
(docs/engine.md §6.4).

The server rejects the deletion of an object with children or references to it, unless the relation is derived.
References of ours end when their holders are planned; a user's reference is reported. The planner decides whether the
object should be deleted at all.

It reads the assumptions and the cache, and changes nothing; ``desired`` and ``doomed`` are asked.

Touches: nothing outside memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from intentc.model import HeldInput, Key, Kind, Name, ReferenceValue, Resource, Schema
from intentc.model.reads import PARENT

from .actual import Actual
from .assumed import Assumed
from .merge import Desired
from .ownership import Ownership, ownership_of_object, writes_entry


class Blockers(NamedTuple):
    """``holders``: objects that still refer to it. ``users``: those of them, as ``kind name``, whose references we will
    not remove."""

    holders: frozenset[Name]
    users: tuple[str, ...]


def blockers(
    schema: Schema, installation: str, assumed: Assumed, actual: Actual, desired: Callable[[Actual], Desired]
) -> Blockers:
    """What prevents the deletion of ``actual`` now. ``desired``: what all claims want of a holder."""
    holders: set[Name] = set()
    users: set[str] = set()
    for holder_kind, relation in schema.referring.get(actual.kind.name, ()):
        if not _blocks(holder_kind, relation, actual.kind.name):
            continue
        for key in assumed.holders(actual.key, holder_kind.name, relation):
            if key == actual.key:
                continue
            try:
                holder = assumed.at(key)
            except HeldInput as held:
                users.add(f"{held.name or key} (which can't be read)")
                if held.name is not None:
                    holders.add(held.name)
                continue
            if holder is not None:
                holders.add(holder.name)
                if not _lets_go(installation, assumed, holder, relation, actual, desired):
                    users.add(str(holder.name))
    return Blockers(frozenset(holders), tuple(sorted(users)))


def abandoned(assumed: Assumed, actual: Actual | Resource) -> bool:
    """Whether the parent that gives the object its meaning was deleted."""
    return bool(actual.kind.parents) and (actual.parent is None or not assumed.present(actual.parent))


def without_cycle(
    assumed: Assumed, actual: Actual, doomed: Callable[[Actual], bool]
) -> dict[str, tuple[ReferenceValue, ...]]:
    """relation → the entries that remain in ``actual``, which is to be deleted and waits for its holders, without those
    for doomed objects that wait for it in turn. Empty if there is no such cycle."""
    changes = {}
    for relation in actual.kind.relations:
        entries = assumed.entries(actual, relation)
        kept = tuple(e for e in entries.values() if not _leads_to(assumed, e.key, actual.key, doomed, {actual.key}))
        if len(kept) < len(entries):
            changes[relation] = kept
    return changes


def _leads_to(assumed: Assumed, key: Key, goal: Key, doomed: Callable[[Actual], bool], passed: set[Key]) -> bool:
    """Whether ``key`` refers to ``goal``, through any number of doomed objects."""
    if key in passed:
        return False
    passed.add(key)
    try:
        actual = assumed.at(key)
    except HeldInput:
        return False
    if actual is None or not doomed(actual):
        return False
    targets = [target for relation in actual.kind.relations for target in assumed.entries(actual, relation)]
    return goal in targets or any(_leads_to(assumed, target, goal, doomed, passed) for target in targets)


def _blocks(holder_kind: Kind, relation: str, target_kind: str) -> bool:
    if relation == PARENT:
        return any(parent.kind == target_kind and not parent.derived for parent in holder_kind.parents)
    declared = holder_kind.relations.get(relation)
    return declared is not None and not declared.derived


def _lets_go(
    installation: str,
    assumed: Assumed,
    holder: Actual,
    relation: str,
    target: Actual,
    desired: Callable[[Actual], Desired],
) -> bool:
    """Whether planning ``holder`` will end its reference to ``target``."""
    ownership = ownership_of_object(holder, installation)
    if ownership in (Ownership.COPY, Ownership.OTHERS):
        return False
    if relation == PARENT:
        return ownership is Ownership.OURS
    made, declared = ownership is Ownership.OURS, holder.kind.relations[relation]
    written = holder.kind.written(made=made)
    if not made and relation not in (*written.relations, *written.shared):
        return False
    wanted, item = desired(holder), (relation, target.name)
    if made and not wanted.exists:
        return True
    if relation in wanted.kept or item in wanted.disputed:
        return False
    if relation in written.relations or item in wanted.unwanted:
        return True
    entry = assumed.entries(holder, relation).get(target.key)
    if entry is None or relation not in written.shared:
        return False
    return writes_entry(installation, assumed, declared, holder.key, entry, made=made)
