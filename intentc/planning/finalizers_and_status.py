"""Plans the finalizers and the status of an object, a user's or one that is being deleted included
(docs/engine.md §5.8, §14.2).

Apart from the other fields, because nothing that holds those back holds these: an object whose name is taken, or that
waits for its own deletion, would otherwise keep a finalizer of ours for ever, and so never be gone. Of copies and
objects of other installations only the finalizers are planned, once they are being deleted. ``planner`` calls it after
it has planned the rest; ``ending`` and ``status`` say what is right. It reads the object, and changes the draft that it
gets.
"""

from __future__ import annotations

from intentc.model import Delete, Update
from intentc.model.metadata import FINALIZERS

from .actual import Actual
from .desired import Draft
from .diff import MayRemove
from .ending import Ending
from .ownership import Ownership
from .removals import Removals
from .status import status_change


class FinalizersAndStatus:
    """Finalizers and status of the objects that ``installation`` sees."""

    def __init__(self, ending: Ending, removals: Removals, installation: str) -> None:
        self._ending = ending
        self._removals = removals
        self._installation = installation

    def plan(self, draft: Draft, actual: Actual, ownership: Ownership) -> None:
        """Add the changes of both that are permitted now to the writes of ``draft``."""
        if any(isinstance(operation, Delete) for operation in draft.operations):
            # What is left afterwards, since it has finalizers, is planned then.
            return
        is_touched = ownership not in {Ownership.COPY, Ownership.OTHERS}
        if is_touched or actual.is_being_deleted:
            self._finalizers(draft, actual, self._removals.may_remove(draft, actual))
        if is_touched:
            self._status(draft, actual, self._removals.may_clear(draft))

    def plan_all(self, draft: Draft, actual: Actual) -> None:
        """Add the changes of both, whatever is permitted now."""
        self._finalizers(draft, actual, lambda _: True)
        self._status(draft, actual, lambda _: True)

    def _finalizers(self, draft: Draft, actual: Actual, may_remove: MayRemove) -> None:
        if not draft.desired.finalizers and not self._ending.concerns(actual):
            return
        wanted, waits_for = self._ending.finalizers(actual, draft.desired.finalizers, may_remove)
        draft.waits_for |= waits_for
        if wanted == actual.finalizers:
            return
        # One update of the object at most: the second one would expect a revision that is no more.
        for position, operation in enumerate(draft.operations):
            if isinstance(operation, Update):
                changed = {**operation.properties, FINALIZERS: wanted}
                draft.operations[position] = operation._replace(properties=changed)
                return
        draft.operations.insert(0, Update(actual.key, draft.name, {FINALIZERS: wanted}, {}, actual.revision))

    def _status(self, draft: Draft, actual: Actual, may_clear: MayRemove) -> None:
        change = status_change(actual, draft.desired, self._installation, may_clear)
        if change is not None:
            draft.operations.append(change)
