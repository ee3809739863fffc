"""Maps names to keys, and decides which object has a name that exists twice (docs/engine.md §2.4).

The object with the lower create revision has the name, so that every restart decides alike; the others are held until
it is deleted. The table keeps order and uuids only; ``states.py`` has the states.

State: the table, in memory; only ``cache.py`` changes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from intentc.model import Problem

from .states import Held, State


class NameTable:
    """Kind and joined fq_name → the uuids of its holders; the first one has the name."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, str | tuple[str, ...]]] = {}

    def holders(self, kind: str, name: str) -> tuple[str, ...]:
        found = self._kinds.get(kind, {}).get(name, ())
        return (found,) if isinstance(found, str) else found

    def in_force(self, kind: str, name: str) -> str | None:
        """The uuid of the object that has the name now."""
        found = self._kinds.get(kind, {}).get(name)
        return found[0] if isinstance(found, tuple) else found

    def replace(self, kind: str, name: str, uuids: Sequence[str]) -> None:
        """Set the holders of a name, in order; an empty sequence frees it."""
        table = self._kinds.setdefault(kind, {})
        if uuids:
            table[name] = uuids[0] if len(uuids) == 1 else tuple(uuids)
        else:
            table.pop(name, None)


def precedence(state: State) -> tuple[int, str]:
    """The sort key for the holders of one name."""
    return state.create_revision, state.key.uuid


def given_name(state: State) -> State:
    """``state`` once it has its name."""
    if not isinstance(state, Held) or state.in_force:
        return state
    if state.parked is not None:
        return state.parked
    return Held(state.key, state.fq_name, state.create_revision, state.mod_revision, state.problem)


def rejected_name(state: State, holder: State) -> State:
    """``state`` while ``holder`` has its name."""
    if isinstance(state, Held) and state.parked is None:
        if not state.in_force:
            return state
        return Held(state.key, state.fq_name, state.create_revision, state.mod_revision, state.problem, in_force=False)
    resource = state.parked if isinstance(state, Held) else state
    assert resource is not None
    name = ":".join(state.fq_name)
    problem = Problem(
        kind=state.key.kind,
        name=name,
        reason="NameTaken",
        message=f"{name} exists twice: {holder.key} was there first and stays in force, {state.key} is held; "
        f"delete one of them, or give it another name",
        source=f"{state.key}@{state.mod_revision}",
    )
    if isinstance(state, Held) and state.problem == problem:
        return state
    return Held(
        state.key,
        state.fq_name,
        state.create_revision,
        state.mod_revision,
        problem,
        parked=resource,
        in_force=False,
    )
