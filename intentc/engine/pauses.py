"""Knows which objects an operator has paused: by themselves, or with the intent for which they were made.

``operator_actions`` pauses; ``object_planner`` asks before each write.

It reads the claim book and the world, and adds objects that a paused intent made to the state tables.
"""

from __future__ import annotations

from ..logic import Service
from ..model import Name
from ..planning import Assumed, ClaimBook
from .state_tables import PAUSED, StateTables


class Pauses:
    """Answers for one object at a time."""

    def __init__(self, *, logic: Service, book: ClaimBook, assumed: Assumed, states: StateTables) -> None:
        self._logic = logic
        self._book = book
        self._assumed = assumed
        self._states = states

    def cover(self, name: Name) -> bool:
        """Whether an operator has paused the object, or the intent for which it was made."""
        states = self._states
        if name in states.left_alone:
            return True
        if not (states.left_if_ours or states.stopped):
            return False
        actual = self._assumed.actual(name)
        if actual is None:
            wanted_by = self._book.on(name)
            return bool(wanted_by) and all(PAUSED in states.stopped.get(key, ()) for key in wanted_by)
        if actual.mark is None:
            return False
        if name in states.left_if_ours:
            states.left_alone.hold(name, states.left_if_ours[name])
            return True
        origin = actual.mark.origin
        return any(
            key.uuid == origin and PAUSED in stops and self._logic.exists(key) for key, stops in states.stopped.items()
        )
