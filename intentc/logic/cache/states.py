"""The states of a present key in the cache: in force, or held with the reason.

Most keys are in force and cost nothing here: their state *is* their ``Resource``. A key counts as present whatever its
value (docs/engine.md §5.7), so a key whose value can't be used has a ``Held`` instead. Other modules decide what that
means for an intent's outputs.

Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from intentc.model import Key, Problem, Resource


class Held:
    """A present key that can't be used now (docs/engine.md §7).

    ``fq_name``: the name if it is known, else empty. ``shown``: the last readable state of a value that became
    unreadable; it stays in graph and indexes, so that the object does not seem deleted. ``parked``: the readable state
    of an object whose name belongs to another; it is in no table until the name is free. ``in_force``: whether it has
    its name.
    """

    __slots__ = ("create_revision", "fq_name", "in_force", "key", "mod_revision", "parked", "problem", "shown")

    def __init__(
        self,
        key: Key,
        fq_name: tuple[str, ...],
        create_revision: int,
        mod_revision: int,
        problem: Problem,
        *,
        shown: Resource | None = None,
        parked: Resource | None = None,
        in_force: bool = True,
    ) -> None:
        self.key = key
        self.fq_name = fq_name
        self.create_revision = create_revision
        self.mod_revision = mod_revision
        self.problem = problem
        self.shown = shown
        self.parked = parked
        self.in_force = in_force

    def __repr__(self) -> str:
        return f"<Held {self.key} {self.problem.reason}>"


State = Resource | Held
Offers = Mapping[str, tuple[str, ...]]
"""Declared index → the values that a resource offers in it."""

NO_OFFERS: Offers = {}


class Transition(NamedTuple):
    """What one batch does to one key; None means absent. The offers are those of the shown states."""

    key: Key
    before: State | None
    after: State | None
    offered_before: Offers
    offered_after: Offers


def shown(state: State | None) -> Resource | None:
    """The resource by which a key takes part in graph and indexes, None if it doesn't."""
    return state.shown if isinstance(state, Held) else state


def counts(state: State | None) -> bool:
    """Whether a key counts as one of all objects of its kind. A value that was never readable counts, so that a reader
    of the whole kind learns that one can't be read; an object whose name belongs to another does not count."""
    return shown(state) is not None or (isinstance(state, Held) and state.parked is None and state.in_force)


def known_name(state: State | None) -> str:
    """The fq_name, joined by ``:``, that a key claims; empty if absent or not known."""
    return ":".join(state.fq_name) if state is not None else ""


def name_in_force(state: State | None) -> str:
    """The fq_name, joined by ``:``, under which a key is found; empty if it has none."""
    if state is None or (state.__class__ is Held and not state.in_force):
        return ""
    return ":".join(state.fq_name)
