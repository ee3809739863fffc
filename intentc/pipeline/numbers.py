"""Numbers from the ledger: wishes are granted before writes, and a number goes back when its owner is gone.

The rules are engine.md §8: the owner is ``installation/origin uuid/purpose``; a number is freed when its owner's key
is absent (or no longer asks for it) and the objects that carry it are acknowledged as deleted. What numbers are used
for is the compilers' business, who holds which is the API server's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from ..evaluation import Outcome, Status, Wish
from ..model import Name
from ..model.reads import allocation_read
from ..queue import Backoff, KeyedQueue
from ..writing import Fenced, Throttled, Unreachable, WriteError
from .intake import Intake
from .parts import Parts

_LOG = logging.getLogger(__name__)
_AWAY = 1.0
"""Seconds between tries at a server that can't be reached."""


class Place(NamedTuple):
    """One entry of the ledger, whether it holds a number or not."""

    pool: str
    owner: str

    @property
    def origin(self) -> str:
        """The uuid in ``installation/origin uuid/purpose``."""
        return self.owner.split("/")[1]


_WHOLE_LEDGER = Place("", "")
"""Stands in the queue for reading everything anew."""


class Numbers:
    """Serves the places of the ledger at which something is to be done, each by itself: one that is refused holds up
    nobody else. ``carriers(origin uuid)`` gives the names of the objects that carry the origin's mark or may do so
    soon."""

    def __init__(self, parts: Parts, intake: Intake, carriers: Callable[[str], frozenset[Name]]) -> None:
        self._parts = parts
        self._intake = intake
        self._carriers = carriers
        self._wishes: dict[str, dict[Place, Wish]] = {}
        self._held: dict[str, dict[Place, int]] = {}
        self._leaving: set[str] = set()
        self._places: KeyedQueue[Place] = KeyedQueue(backoff=Backoff(first=0.5))

    @property
    def idle(self) -> bool:
        """Nothing waits to be asked of the ledger or is under way; what backs off doesn't count."""
        return self._places.idle

    @property
    def settled(self) -> bool:
        """Idle, and nothing backs off either."""
        return self._places.settled

    async def load(self) -> None:
        """Read the ledger; before the first evaluation, and again when the store was put back to an older state."""
        entries = await self._parts.read.ledger(f"{self._parts.installation}/")
        found = {Place(pool, owner): value for pool, owner, value in entries}
        for place in [place for places in self._held.values() for place in places]:
            if place not in found:
                self._note(place, None)
        for place, value in found.items():
            self._note(place, value)

    def distrust(self) -> None:
        """What is known of the ledger may be wrong: read it anew."""
        self._places.add(_WHOLE_LEDGER)

    def origins(self) -> tuple[str, ...]:
        """The uuids of all owners of numbers."""
        return tuple(self._held)

    def outcome(self, outcome: Outcome) -> None:
        """Note the wishes of an evaluation in place of its former ones, and the numbers that it asks for no longer."""
        origin = outcome.key.uuid
        if outcome.status not in {Status.FAILED, Status.HELD} and (outcome.wishes or origin in self._wishes):
            self._wishes[origin] = {Place(wish.pool, wish.owner): wish for wish in outcome.wishes}
            if not outcome.wishes:
                del self._wishes[origin]
            elif not self._parts.observe:
                for place in self._wishes[origin]:
                    self._places.add(place)
        if outcome.status in {Status.DONE, Status.GONE}:
            for place in self._held.get(origin, ()):
                if allocation_read(*place) not in outcome.reads:
                    self.leave(origin)

    def leave(self, origin: str) -> None:
        """An owner is gone, or asks for less: its numbers go as soon as nothing carries them."""
        if not any(self._read(place) for place in self._wishes.get(origin, ())):
            self._wishes.pop(origin, None)
        if origin in self._held:
            self._leaving.add(origin)

    def stir(self) -> None:
        """Something that a release may wait for has happened: an acknowledged write, an applied batch."""
        if self._parts.observe:
            return
        for origin in tuple(self._leaving):
            unread = [place for place in self._held.get(origin, ()) if not self._read(place)]
            if not unread:
                self._leaving.discard(origin)
            elif not self._carried(origin):
                for place in unread:
                    self._places.add(place, resync=True)

    async def run(self, calm: asyncio.Event, on_change: Callable[[], None]) -> None:
        """Grant and release for ever. ``calm``: all that is known has been evaluated. Wishes are gathered until then,
        so that numbers follow the order of the owners' names and not of arrival. Raises ``Fenced``."""
        while True:
            place = await self._places.get()
            await calm.wait()
            for each in self._in_order((place, *self._places.take_all())):
                await self._serve(each)
                on_change()

    async def serve(self) -> None:
        """Do all that is to be done now, in the caller's task. Raises ``Fenced``."""
        for place in self._in_order(self._places.take_all()):
            await self._serve(place)

    def _in_order(self, places: tuple[Place, ...]) -> list[Place]:
        def order(place: Place) -> tuple[str, Place]:
            wish = self._wishes.get(place.origin, {}).get(place) if place.owner else None
            return (wish.name if wish else "", place)

        return sorted(places, key=order)

    async def _serve(self, place: Place) -> None:
        try:
            if place is _WHOLE_LEDGER:
                await self.load()
            elif place in self._wishes.get(place.origin, ()):
                await self._grant(place)
            elif (
                place in self._held.get(place.origin, ()) and not self._read(place) and not self._carried(place.origin)
            ):
                await self._release(place)
            self._places.forget(place)
        except Fenced:
            raise
        except WriteError as error:
            self._put_off(place, error)
        finally:
            self._places.done(place)

    def _put_off(self, place: Place, error: WriteError) -> None:
        """Try again by and by; at a server that is away soon, since nobody knows when it is back."""
        if self._places.failures(place) == 0:
            _LOG.log(
                logging.DEBUG if isinstance(error, Unreachable) else logging.WARNING,
                "the ledger can't be asked for %s of %s: %s; trying again",
                *place,
                error,
            )
        match error:
            case Throttled(retry_after=seconds):
                self._places.retry(place, after=seconds)
            case Unreachable():
                self._places.retry(place, after=_AWAY)
            case _:
                self._places.retry(place)

    async def _grant(self, place: Place) -> None:
        value = await self._parts.write.allocate(*place, self._parts.fence())
        wishes = self._wishes.get(place.origin, {})
        wishes.pop(place, None)
        if not wishes:
            self._wishes.pop(place.origin, None)
        self._note(place, value)
        if not self._read(place):
            # While the answer was under way the owner went, or took to something else.
            self.leave(place.origin)

    async def _release(self, place: Place) -> None:
        # Taken from the ledger first: an evaluation that runs meanwhile must wish anew, not get what is going.
        # Until the answer it stays among the held ones, so that a release that failed is tried again.
        self._intake.concern(self._parts.logic.allocated(*place, None))
        await self._parts.write.free(*place, self._held[place.origin][place], self._parts.fence())
        self._note(place, None)

    def _note(self, place: Place, value: int | None) -> None:
        if value is not None:
            self._held.setdefault(place.origin, {})[place] = value
        elif place.origin in self._held:
            self._held[place.origin].pop(place, None)
            if not self._held[place.origin]:
                del self._held[place.origin]
        self._intake.concern(self._parts.logic.allocated(*place, value))

    def _read(self, place: Place) -> bool:
        return bool(self._parts.logic.reads.readers(allocation_read(*place)))

    def _carried(self, origin: str) -> bool:
        """Whether an object of this owner's making is still there that the owner itself no longer claims."""
        book = self._parts.book
        return any(all(key.uuid != origin for key in book.on(name)) for name in self._carriers(origin))
