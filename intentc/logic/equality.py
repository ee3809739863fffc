"""Decides whether a change of an object is a change of an input (docs/engine.md §2.3, §5.1, §5.2).

What compilers write is no input: the kind leaves out fields that belong to compilers entirely, and this module leaves
out our entries of shared lists. Otherwise the echo of each reference that we add would start a walk.

Pure functions of two states, and of the cache, which knows who made an object.
"""

from __future__ import annotations

from typing import Any

from intentc.logic.cache import Cache, Held, Transition, shown
from intentc.model import Key, Resource
from intentc.model.kind import Relation
from intentc.model.ownership import is_our_entry

from .changes import is_ours, made_differs


def input_changed(transition: Transition, installation: str, cache: Cache) -> bool:
    """Whether a reader of the object, or the intent on it, could see a difference."""
    before, after = transition.before, transition.after
    if before is None or after is None:
        return True
    if isinstance(before, Held) or isinstance(after, Held):
        # A resource that stays held is no news, unless its shown state is lost.
        return not (isinstance(before, Held) and isinstance(after, Held)) or shown(before) is not shown(after)
    if made_differs(before, after, installation):
        return True
    return not same_for_readers(before, after, installation, cache)


def same_for_readers(one: Resource, other: Resource, installation: str, cache: Cache) -> bool:
    """Whether two states of an object are equal apart from what compilers of ``installation`` wrote."""
    kind = one.kind
    if not kind.shared_relations:
        return kind.same_input(one, other)
    if one.raw == other.raw:
        return True
    shared = {f"{name}_refs": kind.relations[name] for name in kind.shared_relations}
    first, second = one.values(), other.values()
    for field in kind.input_fields:
        mine, theirs = getattr(first, field), getattr(second, field)
        if mine == theirs:
            continue
        relation = shared.get(field)
        if relation is None:
            return False
        if _users(mine, relation, one, installation, cache) != _users(theirs, relation, one, installation, cache):
            return False
    return True


def _users(
    entries: tuple[Any, ...], relation: Relation, holder: Resource, installation: str, cache: Cache
) -> list[Any]:
    """The entries that no compiler of this installation wrote."""
    own = _is_made(cache, holder.key, installation)
    return [
        entry
        for entry in entries
        if not is_our_entry(
            relation,
            holder.key.uuid,
            target=entry.to,
            uuid=entry.uuid,
            attribute=getattr(entry, "attr", None),
            installation=installation,
            both_made=own and _is_made(cache, Key(relation.name, entry.uuid), installation),
        )
    ]


def _is_made(cache: Cache, key: Key, installation: str) -> bool:
    """Whether a compiler of ``installation`` made an object."""
    state = cache.state(key)
    return isinstance(state, Resource) and is_ours(state, installation)
