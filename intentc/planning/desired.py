"""Says what all claims on an object want of it now, and collects what planning it finds.

A plan asks for the desired state of its own object, of the targets of its references, and of the holders that keep it
from being deleted. Where many claim, the claim book remembers it until a claim changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from intentc.model import Claim, Key, Kind, Name, Operation, Problem

from .assumed import Assumed
from .claims import ClaimBook
from .merge import Desired, merge


class Plan(NamedTuple):
    """The writes for one object.

    ``operations``: carried out in this order. ``waits_for``: objects that must change before the rest can be planned:
    targets and parents that don't exist yet, holders that still refer to it, the object itself if a delete precedes a
    create. ``wakes``: those of them that must be planned to drop their references. ``problems``: on the object, or on
    its claimants. ``deferred``: removals that must not be made now, as (object, the uuid of the held origin or
    ``LATER``). ``is_in_place``: the object is absent, or its parent is there, so that it is not left behind.
    ``revision``: the object's mod revision then; 0 if it is absent, None if not known.
    """

    name: Name
    operations: tuple[Operation, ...] = ()
    waits_for: frozenset[Name] = frozenset()
    problems: tuple[Problem, ...] = ()
    wakes: frozenset[Name] = frozenset()
    deferred: frozenset[tuple[Name, str]] = frozenset()
    is_in_place: bool = False
    revision: int | None = None


class Draft:
    """The object ``name`` of ``kind`` with the claims on it and their merged result."""

    __slots__ = (
        "claims", "deferred", "desired", "is_in_place", "kind", "name", "operations", "problems", "revision",
        "waits_for", "wakes",
    )  # fmt: skip

    def __init__(self, name: Name, kind: Kind, claims: Mapping[Key, tuple[Claim, ...]], desired: Desired) -> None:
        self.name = name
        self.kind = kind
        self.claims = claims
        self.desired = desired
        self.operations: list[Operation] = []
        self.waits_for: set[Name] = set()
        self.wakes: set[Name] = set()
        self.deferred: set[tuple[Name, str]] = set()
        self.is_in_place = False
        self.revision: int | None = None
        self.problems: list[Problem] = list(desired.problems)

    def problem(self, reason: str, message: str) -> None:
        """A problem of the object itself."""
        self.problems.append(Problem(self.name.kind, ":".join(self.name.fq_name), reason, message))

    def plan(self) -> Plan:
        """The collected plan as a value."""
        return Plan(
            self.name,
            tuple(self.operations),
            frozenset(self.waits_for),
            tuple(dict.fromkeys(self.problems)),
            frozenset(self.wakes),
            frozenset(self.deferred),
            self.is_in_place,
            self.revision,
        )


_MANY = 8
"""Origins with claims on one object, from which on it is remembered what they come to."""


class DesiredObjects:
    """The desired states by the claims in ``book``; ``assumed`` knows the names of the origins, for problems."""

    def __init__(self, book: ClaimBook, assumed: Assumed) -> None:
        self._book = book
        self._assumed = assumed

    def draft(self, kind: Kind, name: Name) -> Draft:
        """A plan to begin with, of what is wanted of an object."""
        return Draft(name, kind, self._book.on(name), self.of(kind, name))

    def of(self, kind: Kind, name: Name) -> Desired:
        """What all claims on an object want."""
        claims = self._book.on(name)
        if len(claims) < _MANY:
            return merge(kind, name, claims, self._assumed.title)
        found: Desired | None = self._book.merged.get(name)
        if found is None:
            found = merge(kind, name, claims, self._assumed.title)
            if not found.problems:
                self._book.merged[name] = found
        return found
