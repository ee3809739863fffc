"""Reads objects back from the API server where the cache may be wrong: after a write that failed or has no echo, and
when an audit finds a difference.

The next plan then starts from what is there. ``planning`` folds what was read into what is known; ``write_failures``
decides after which failures an object is read back, ``planning/assumed.py`` when an echo is late.

It reads at the API server, and writes nothing there. It puts what it read into ``planning``'s assumptions, and queues
objects whose echo is late, or whose presence was only assumed, to be planned again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ..model import AddReference, Create, Key, Name, Operation, RemoveReference, Update
from ..planning import Assumed, ClaimBook, Plan
from ..reconcile.failures import Failure
from ..writing import ReadService
from .log_fields import LogFields
from .object_queue import ObjectQueue

_LOG = logging.getLogger(__name__)


class ReadBack:
    """Reads one object after the other. A server that can't be asked is asked again on the next occasion."""

    def __init__(
        self,
        *,
        reader: ReadService,
        assumed: Assumed,
        book: ClaimBook,
        objects: ObjectQueue,
        log_fields: LogFields,
    ) -> None:
        self._reader = reader
        self._assumed = assumed
        self._book = book
        self._objects = objects
        self._log_fields = log_fields

    async def after(self, plan: Plan) -> None:
        """Read the object, its name and its targets after a failed write, for the next plan."""
        wanted: dict[Key, Name] = {}
        for operation in plan.operations:
            wanted[operation.key] = operation.name
            wanted.update(_targets(operation))
        try:
            holder = await self._reader.identify(plan.name)
            if holder is not None:
                wanted[holder] = plan.name
            for key, name in wanted.items():
                is_there = await self._refresh(key)
                if not is_there and name != plan.name and name in self._book:
                    # Its presence was perhaps only assumed, and no event corrects that after a restore of the store.
                    self._objects.plan((name,))
        except Failure as error:
            self._log(plan.name, error)

    async def object(self, key: Key, name: Name) -> bool:
        """Read the object ``key`` of this name. False if that failed."""
        try:
            await self._refresh(key)
        except Failure as error:
            self._log(name, error)
            return False
        return True

    async def unseen(self) -> bool:
        """Read the objects that were written and not seen again in time, and plan them. True if there was any."""
        found: list[Name] = []
        for key, name in self._assumed.expired():
            if not await self.object(key, name):
                break
            found.append(name)
        self._objects.plan(found)
        return bool(found)

    async def _refresh(self, key: Key) -> bool:
        """Read one object. True if it is there. Raises ``Failure``."""
        seen_at = self._assumed.seen_at(key)
        stored = await self._reader.read(key)
        self._assumed.read_back(key, stored, seen_at)
        return stored is not None

    def _log(self, name: Name, error: Failure) -> None:
        _LOG.info("reading back %s: %s", name, error, extra=self._log_fields.about(name))


def _targets(operation: Operation) -> Iterator[tuple[Key, Name]]:
    """The objects to which a write refers."""
    match operation:
        case Create() | Update():
            if isinstance(operation, Create) and operation.parent:
                yield operation.parent.key, Name(operation.parent.key.kind, operation.parent.fq_name)
            for entries in operation.references.values():
                for entry in entries:
                    yield entry.key, Name(entry.key.kind, entry.fq_name)
        case AddReference(target=target):
            yield target.key, Name(target.key.kind, target.fq_name)
        case RemoveReference(target=key):
            yield key, Name(key.kind, ())
