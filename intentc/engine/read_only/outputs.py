"""Shows the outputs of an engine: who claims what of which object, what is there, and what a plan would write.

It reads the claim book, the cache, the assumptions and the guard on deletes, live, and makes plans that nobody carries
out. ``explain`` evaluates an intent: the runner remembers a failure of that, and guards it with the time budget and the
crash marker's file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...evaluation import Explained, Runner
from ...logic import Service
from ...model import Claim, Key, Name, Problem, ReferenceValue, RelationClaim, StatusClaim
from ...model.kind import Relation
from ...model.resource import Reference
from ...planning import Actual, Assumed, ClaimBook, Item, Plan, Planner
from ..operator_actions import key_of


class Outputs:
    """The objects that compilers make, or on which they write a field."""

    __slots__ = ("_assumed", "_book", "_logic", "_planner", "_runner")

    def __init__(self, *, logic: Service, book: ClaimBook, assumed: Assumed, planner: Planner, runner: Runner) -> None:
        self._logic = logic
        self._book = book
        self._assumed = assumed
        self._planner = planner
        self._runner = runner

    def __contains__(self, name: Name) -> bool:
        """Whether an intent claims something of this object."""
        return name in self._book

    def is_written(self, name: Name) -> bool:
        """Whether an intent claims more of this object than its status, and that references stay as they are."""
        return any(not _keeps_only(claim) for claims in self._book.on(name).values() for claim in claims)

    def names(self) -> Iterator[Name]:
        """All objects with claims."""
        return self._book.names()

    def claims_on(self, name: Name) -> Mapping[Key, tuple[Claim, ...]]:
        """The claims on one object: intent → its claims."""
        return self._book.on(name)

    def claimed_by(self, origin: Key) -> tuple[Name, ...]:
        """The objects that an intent has claims on."""
        return self._book.of(origin)

    @property
    def has_unknown_claims(self) -> bool:
        """Whether an intent is held since before the first pass, so that its claims are unknown."""
        return self._book.unknown

    def actual(self, name: Name) -> Actual | None:
        """The object as it is, with our writes that have no echo yet; None if it is absent. Raises ``HeldInput`` if it
        can't be read."""
        return self._assumed.actual(name)

    def key_of_target(self, reference: Reference) -> Key | None:
        """The object to which a stored reference leads."""
        return self._assumed.key_of(reference)

    def leading_to(self, relation: str, stored: Collection[Key], items: Collection[Item]) -> frozenset[Key]:
        """Those of the stored entries of one relation that lead to the targets in (relation, target) pairs."""
        return self._assumed.leading_to(relation, stored, items)

    def writes_entry(self, relation: Relation, actual: Actual, entry: ReferenceValue, *, made: bool) -> bool:
        """Whether an entry of a shared list of ``actual`` is ours; ``made``: we made ``actual``."""
        return self._planner.writes_entry(relation, actual.key, entry, made=made)

    def key_of(self, name: Name) -> Key:
        """The key of the object of this name: the present one, else the one that is about to be created; without a uuid
        if there is neither."""
        return key_of(self._logic, self._planner, name)

    def plan(self, name: Name) -> Plan:
        """What this object needs now, permitted or not."""
        return self._planner.plan(name)

    @property
    def withheld_deletes(self) -> Mapping[str, Collection[Name]]:
        """Kind → the objects whose deletion needs approval."""
        return self._planner.guard.withheld

    def is_delete_withheld(self, name: Name) -> bool:
        """Whether the deletion of this object needs approval."""
        return self._planner.guard.holds(name)

    def explain(self, key: Key) -> Explained:
        """Evaluate an intent once more, for the reasons of its outputs, which stay as they are."""
        return self._runner.explain(key)

    def failed_explanation(self, key: Key) -> Problem | None:
        """Why explaining this intent in its present state failed, if it did."""
        return self._runner.failed_explanation(key)


def _keeps_only(claim: Claim) -> bool:
    return isinstance(claim, StatusClaim) or (isinstance(claim, RelationClaim) and not claim.unwanted)
