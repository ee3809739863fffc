"""Decides whether a change of an object is a change of an input (docs/engine.md §2.3, §5.1, §5.2).

What compilers write is no input: the kind leaves out fields that belong to compilers entirely, and this module leaves
out our entries of shared lists. Otherwise the echo of each reference that we add would start a walk.
"""

from __future__ import annotations

from typing import Any

from intentc.logic.cache import Held, Transition, shown
from intentc.model import Name, Resource, object_uuid
from intentc.model.kind import Relation


def input_changed(transition: Transition, installation: str) -> bool:
    """Whether a reader of the object, or the intent on it, could see a difference."""
    before, after = transition.before, transition.after
    if before is None or after is None:
        return True
    if isinstance(before, Held) or isinstance(after, Held):
        # A resource that stays held is no news, unless its shown state is lost.
        return not (isinstance(before, Held) and isinstance(after, Held)) or shown(before) is not shown(after)
    return not same_for_readers(before, after, installation)


def same_for_readers(one: Resource, other: Resource, installation: str) -> bool:
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
        holder = one.key.uuid
        if _users(mine, relation, holder, installation) != _users(theirs, relation, holder, installation):
            return False
    return True


def _users(entries: tuple[Any, ...], relation: Relation, holder: str, installation: str) -> list[Any]:
    return [entry for entry in entries if not _ours(entry, relation, holder, installation)]


def _ours(entry: Any, relation: Relation, holder: str, installation: str) -> bool:
    if not entry.to:
        return False
    if relation.ours is not None and relation.ours.search(entry.to[-1]):
        return True
    return bool(entry.uuid) and entry.uuid == object_uuid(installation, Name(relation.name, entry.to), holder)
