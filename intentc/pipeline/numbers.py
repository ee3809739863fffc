"""Numbers from the ledger: wishes are granted before writes, and a number goes back when its owner is gone.

The rules are engine.md §8: the owner is ``installation/origin uuid/purpose``; a number is freed when its owner's key
is absent (or no longer asks for it) and the objects that carry it are acknowledged as deleted. What numbers are used
for is the compilers' business, who holds which is the API server's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..evaluation import Outcome, Status, Wish
from ..model import Name
from ..model.reads import allocation_read
from ..writing import Conflict, Fenced, Rejected, WriteError
from .intake import Intake
from .parts import Parts

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0
"""Seconds until a server that can't be written to is tried again."""
_REFUSED_PAUSE = 10.0
"""Seconds until a number that was refused is asked for again."""


class Numbers:
    """``carriers(origin uuid)`` gives the names of the stored objects that carry the origin's mark."""

    def __init__(self, parts: Parts, intake: Intake, carriers: Callable[[str], frozenset[Name]]) -> None:
        self._parts = parts
        self._intake = intake
        self._carriers = carriers
        self._wishes: dict[tuple[str, str], Wish] = {}
        self._held: dict[str, dict[tuple[str, str], int]] = {}
        self._leaving: set[str] = set()
        self._stirred = asyncio.Event()
        self._busy = False

    @property
    def idle(self) -> bool:
        """No wish and no release is under way that could be carried out now."""
        return not self._busy and (self._parts.observe or not (self._wishes or any(self._releasable())))

    async def load(self) -> None:
        """Read the ledger; before the first evaluation."""
        for pool, owner, value in await self._parts.read.ledger(f"{self._parts.installation}/"):
            self._grant(pool, owner, value)

    def origins(self) -> tuple[str, ...]:
        """The uuids of all owners of numbers."""
        return tuple(self._held)

    def outcome(self, outcome: Outcome) -> None:
        """Note the wishes of an evaluation, and the numbers that it asks for no longer."""
        for wish in outcome.wishes:
            self._wish(wish)
        if outcome.status in {Status.DONE, Status.GONE}:
            for pool, owner in self._held.get(outcome.key.uuid, ()):
                if allocation_read(pool, owner) not in outcome.reads:
                    self.leave(outcome.key.uuid)

    def leave(self, origin: str) -> None:
        """An owner is gone, or asks for less: look at its numbers whenever something changes."""
        if origin in self._held:
            self._leaving.add(origin)
            self._stirred.set()

    def stir(self) -> None:
        """Something that a release may wait for has happened: an acknowledged write, an applied batch."""
        if self._wishes or self._leaving:
            self._stirred.set()

    async def run(self, calm: Callable[[], bool], on_change: Callable[[], None]) -> None:
        """Grant and release for ever. ``calm``: whether all that is known has been evaluated; wishes are gathered
        until then, so that numbers follow the order of the owners' names and not of arrival."""
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            if self._parts.observe or not calm():
                continue
            self._busy = True
            tried = failed = False
            try:
                tried = await self.serve()
            except Fenced:
                raise
            except WriteError as error:
                _LOG.warning("the ledger can't be written now: %s", error)
                failed = True
            finally:
                self._busy = False
                on_change()
            if failed:
                await asyncio.sleep(_PAUSE)
                self._stirred.set()
            elif not tried:
                # There was nothing to do, and telling of that has stirred us again: without this the loop never ends.
                self._stirred.clear()

    async def serve(self) -> bool:
        """Grant what is wished for, and free what nobody needs any more. False if there was nothing to do;
        then it has not waited for anybody. Raises ``WriteError``."""
        asked = await self._grant_wishes()
        return await self._release() or asked

    async def _grant_wishes(self) -> bool:
        asked = False
        logic, write, fence = self._parts.logic, self._parts.write, self._parts.fence
        for place, wish in sorted(self._wishes.items(), key=lambda item: (item[1].name, item[0])):
            self._wishes.pop(place, None)
            if not logic.exists(wish.origin):
                continue
            asked = True
            try:
                value = await write.allocate(wish.pool, wish.owner, fence())
            except (Rejected, Conflict) as error:
                # One owner without a number holds up nobody else; it stays listed as waiting.
                _LOG.warning("no number of %s for %s: %s; trying again", wish.pool, wish.name, error)
                asyncio.get_running_loop().call_later(_REFUSED_PAUSE, self._wish, wish)
                continue
            except WriteError:
                self._wishes.setdefault(place, wish)
                raise
            self._grant(wish.pool, wish.owner, value)
            if not logic.exists(wish.origin):
                self.leave(wish.origin.uuid)
        return asked

    def _wish(self, wish: Wish) -> None:
        self._wishes[wish.pool, wish.owner] = wish
        self._stirred.set()

    def _grant(self, pool: str, owner: str, value: int) -> None:
        self._held.setdefault(_origin(owner), {})[pool, owner] = value
        self._intake.concern(self._parts.logic.allocated(pool, owner, value))

    def _releasable(self) -> list[tuple[str, str, int]]:
        parts = self._parts
        found = []
        for origin in self._leaving:
            carried = any(not parts.book.on(name) for name in self._carriers(origin))
            for (pool, owner), value in self._held.get(origin, {}).items():
                if not carried and not parts.logic.reads.readers(allocation_read(pool, owner)):
                    found.append((pool, owner, value))
        return found

    def _unread(self, origin: str) -> bool:
        """Whether an origin holds a number for which no evaluation asks now."""
        reads = self._parts.logic.reads
        return any(not reads.readers(allocation_read(pool, owner)) for pool, owner in self._held.get(origin, ()))

    async def _release(self) -> bool:
        releasable = self._releasable()
        for pool, owner, value in releasable:
            # Taken from the ledger first: an evaluation that runs meanwhile must wish anew, not get what is going.
            # Until the answer it stays among the held ones, so that a release that failed is tried again.
            self._intake.concern(self._parts.logic.allocated(pool, owner, None))
            await self._parts.write.free(pool, owner, value, self._parts.fence())
            origin = _origin(owner)
            self._held[origin].pop((pool, owner), None)
            if not self._held[origin]:
                del self._held[origin]
        self._leaving = {origin for origin in self._leaving if self._unread(origin)}
        return bool(releasable)


def _origin(owner: str) -> str:
    """``installation/origin uuid/purpose`` → the uuid."""
    return owner.split("/")[1]
