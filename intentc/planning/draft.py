"""A plan in the making: what is collected while one object is planned.

Kept apart so that the planner's rules read without bookkeeping. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from intentc.model import Claim, Key, Kind, Name, Operation, Problem

from .merge import Desired


class Plan(NamedTuple):
    """What to do about one object.

    ``operations``: to be carried out in this order. ``waits_for``: objects that must change before the rest can be
    planned: targets and parents that are not there yet, holders that still refer to it, the object itself where a
    delete comes before a create. ``stirs``: those of them that must be planned to let go of it. ``problems``: on the
    object, or on those who claim it.
    """

    name: Name
    operations: tuple[Operation, ...] = ()
    waits_for: frozenset[Name] = frozenset()
    problems: tuple[Problem, ...] = ()
    stirs: frozenset[Name] = frozenset()


class Draft:
    """The object ``name`` of ``kind`` with the claims on it and what they amount to."""

    __slots__ = ("claims", "desired", "kind", "name", "operations", "problems", "stirs", "waits_for")

    def __init__(self, name: Name, kind: Kind, claims: Mapping[Key, tuple[Claim, ...]], desired: Desired) -> None:
        self.name = name
        self.kind = kind
        self.claims = claims
        self.desired = desired
        self.operations: list[Operation] = []
        self.waits_for: set[Name] = set()
        self.stirs: set[Name] = set()
        self.problems: list[Problem] = list(desired.problems)

    def problem(self, reason: str, message: str) -> None:
        """A problem of the object itself."""
        self.problems.append(Problem(self.name.kind, ":".join(self.name.fq_name), reason, message))

    def plan(self) -> Plan:
        """What was collected, as a value."""
        return Plan(
            self.name,
            tuple(self.operations),
            frozenset(self.waits_for),
            tuple(dict.fromkeys(self.problems)),
            frozenset(self.stirs),
        )
