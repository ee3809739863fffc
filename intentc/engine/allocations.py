"""Numbers from the ledger: wishes are granted before writes, and a number goes back when its owner is gone.

The rules are docs/engine.md §8: the owner is ``installation/origin uuid/purpose``; a number is freed when its owner's
key is absent (or no longer asks for it) and the objects that carry it are acknowledged as deleted. What numbers are
used for is the compilers' business, who holds which is the API server's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from .. import crashpoints
from ..evaluation import AllocationRequest, Outcome, Status
from ..model import Key, Name, Problem
from ..model.reads import allocation_read
from ..queue import Backoff, KeyedQueue
from ..writing import Fenced, Rejected, Throttled, Unreachable, WriteError
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
        return self.owner.partition("/")[2].rpartition("/")[0]


_WHOLE_LEDGER = Place("", "")
"""Stands in the queue for reading everything anew."""


class Allocations:
    """Serves the places of the ledger at which something is to be done, each by itself: one that is refused holds up
    nobody else. ``carriers(origin uuid)`` gives the names of the objects that carry the origin's mark or may do so
    soon. ``on_loaded`` is called once the ledger was read: what it concerns is to be evaluated before anything else."""

    def __init__(
        self,
        parts: Parts,
        intake: Intake,
        carriers: Callable[[str], frozenset[Name]],
        on_loaded: Callable[[], None],
    ) -> None:
        self._on_loaded = on_loaded
        self._parts = parts
        self._intake = intake
        self._carriers = carriers
        self._requested: dict[str, dict[Place, AllocationRequest]] = {}
        self._held: dict[str, dict[Place, int]] = {}
        self._leaving: set[str] = set()
        self._unsure: set[Place] = set()
        """Whose last request failed after it was sent: the ledger may hold a number for them all the same."""
        self._places: KeyedQueue[Place] = KeyedQueue(backoff=Backoff(first=0.05, last=30.0))

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
        if self._intake.listed:
            # At the start the first pass sees to it; later nothing else would let go of who went before we knew.
            for origin in {place.origin: None for place in found}:
                if not any(self._parts.logic.exists(Key(kind, origin)) for kind in self._parts.logic.intent_kinds):
                    self.leave(origin)
        self._on_loaded()

    def distrust(self) -> None:
        """What is known of the ledger may be wrong: read it anew."""
        self._places.add(_WHOLE_LEDGER)

    def origins(self) -> tuple[str, ...]:
        """The uuids of all owners of numbers."""
        return tuple(self._held)

    def outcome(self, outcome: Outcome) -> None:
        """Note the wishes of an evaluation in place of its former ones, and the numbers that it asks for no longer."""
        origin = outcome.key.uuid
        if (outcome.requests or origin in self._requested) and outcome.status not in {Status.FAILED, Status.HELD}:
            self._requested[origin] = {Place(request.pool, request.owner): request for request in outcome.requests}
            if not outcome.requests:
                del self._requested[origin]
            elif not self._parts.permission.reasons:
                for place in self._requested[origin]:
                    self._places.add(place)
        if origin in self._held and outcome.status in {Status.DONE, Status.GONE}:
            for place in self._held[origin]:
                if allocation_read(*place) not in outcome.reads:
                    self.leave(origin)

    def resume(self) -> None:
        """Writes are permitted now: ask for all that was only wished for."""
        for places in self._requested.values():
            for place in places:
                self._places.add(place)
        self.stir()

    @property
    def requested(self) -> int:
        """How many numbers are wished for."""
        return sum(map(len, self._requested.values()))

    @property
    def outstanding(self) -> bool:
        """Whether a number is wished for, or is to be given back."""
        leaving = (place for origin in self._leaving for place in self._held.get(origin, ()))
        return bool(self._requested) or any(not self._read(place) for place in leaving)

    def leave(self, origin: str) -> None:
        """An owner is gone, or asks for less: its numbers go as soon as nothing carries them."""
        if not any(self._read(place) for place in self._requested.get(origin, ())):
            self._requested.pop(origin, None)
        if origin in self._held:
            self._leaving.add(origin)

    def stir(self) -> None:
        """Something that a release may wait for has happened: an acknowledged write, an applied batch."""
        if self._parts.permission.reasons:
            return
        for origin in tuple(self._leaving):
            unread = [place for place in self._held.get(origin, ()) if not self._read(place)]
            if not unread:
                self._leaving.discard(origin)
            elif not self._carried(origin):
                for place in unread:
                    self._places.add(place, resync=True)

    async def run(self, idle: asyncio.Event, on_change: Callable[[], None]) -> None:
        """Grant and release for ever. ``idle``: all that is known has been evaluated. Wishes are gathered until then,
        so that numbers follow the order of the owners' names and not of arrival. Raises ``Fenced``."""
        while True:
            place = await self._places.get()
            await idle.wait()
            for each in self._in_order((place, *self._places.take_all())):
                await self._parts.throttle.opened()
                self._parts.throttle.spend(1)
                await self._serve(each)
                on_change()

    async def serve(self) -> None:
        """Do all that is to be done now, in the caller's task. Raises ``Fenced``."""
        for place in self._in_order(self._places.take_all()):
            await self._serve(place)

    def _in_order(self, places: tuple[Place, ...]) -> list[Place]:
        def order(place: Place) -> tuple[str, Place]:
            request = self._requested.get(place.origin, {}).get(place) if place.owner else None
            return (request.name if request else "", place)

        return sorted(places, key=order)

    async def _serve(self, place: Place) -> None:
        permission = self._parts.permission
        warrant = permission.warrant()
        try:
            if place is _WHOLE_LEDGER:
                await self.load()
            elif warrant is None:
                # It was withdrawn since: asked for again when it is given. If only lease or watch are not sure at
                # this moment, nobody will tell when they are again.
                if not permission.reasons:
                    self._places.retry(place, after=_AWAY)
                return
            elif place in self._requested.get(place.origin, ()):
                await self._grant(place, warrant.fence)
            elif (
                place in self._held.get(place.origin, ()) and not self._read(place) and not self._carried(place.origin)
            ):
                await self._release(place, warrant.fence)
            elif place in self._unsure:
                await self._find_out(place)
            self._parts.throttle.heard()
            self._unsure.discard(place)
            self._places.forget(place)
        except Fenced as error:
            if not permission.fenced(error, warrant.fence if warrant is not None else None):
                raise
        except WriteError as error:
            if not isinstance(error, Unreachable):
                self._unsure.add(place)
            self._put_off(place, error)
        finally:
            self._places.done(place)

    def _put_off(self, place: Place, error: WriteError) -> None:
        """Try again by and by; at a server that is away as soon as it may be asked again."""
        throttle = self._parts.throttle
        if self._places.failures(place) == 0:
            _LOG.log(
                logging.DEBUG if isinstance(error, Unreachable) else logging.WARNING,
                "the ledger can't be asked for %s of %s: %s; trying again",
                *place,
                error,
            )
        match error:
            case Throttled(retry_after=seconds):
                throttle.throttled(error, Name(place.pool, (place.owner,)))
                self._places.retry(place, after=seconds)
            case Unreachable():
                throttle.away(error)
                self._places.retry(place, after=_AWAY)
            case Rejected():
                self._refuse(place, error)
                self._places.retry(place)
            case _:
                self._places.retry(place)

    def _refuse(self, place: Place, error: Rejected) -> None:
        """Nobody gets a number in this way: that is told with the server's words."""
        request = self._requested.get(place.origin, {}).get(place)
        if request is not None:
            message = f"the ledger refuses a number out of {place.pool}: {error}"
            problem = Problem(request.origin.kind, request.name, "NumberRefused", message)
            self._parts.states.numbers_refused.hold(request.origin, problem)

    async def _grant(self, place: Place, fence: str | None) -> None:
        value = await self._parts.write.allocate(*place, fence)
        crashpoints.reach("allocate.answered")
        self._note(place, value)
        if not self._read(place):
            # While the answer was under way the owner went, or took to something else.
            self.leave(place.origin)

    async def _find_out(self, place: Place) -> None:
        """A number was asked for, nobody knows whether it was given, and nobody wishes it any more."""
        await self.load()
        if not self._read(place):
            self.leave(place.origin)
            self.stir()

    async def _release(self, place: Place, fence: str | None) -> None:
        # Taken from the ledger first: an evaluation that runs meanwhile must wish anew, not get what is going.
        # Until the answer it stays among the held ones, so that a release that failed is tried again.
        self._intake.concern(self._parts.logic.allocated(*place, None))
        await self._parts.write.free(*place, self._held[place.origin][place], fence)
        crashpoints.reach("free.answered")
        self._note(place, None)

    def _note(self, place: Place, value: int | None) -> None:
        if value is not None:
            self._held.setdefault(place.origin, {})[place] = value
            self._fulfilled(place)
        elif place.origin in self._held:
            self._held[place.origin].pop(place, None)
            if not self._held[place.origin]:
                del self._held[place.origin]
        self._intake.concern(self._parts.logic.allocated(*place, value))

    def _fulfilled(self, place: Place) -> None:
        """The number is there, whoever asked for it: a new leader learns from the ledger what the former one was given
        for those who wished in both, and must not ask once more."""
        requests = self._requested.get(place.origin, {})
        request = requests.pop(place, None)
        if request is not None:
            self._parts.states.numbers_refused.release(request.origin)
        if not requests:
            self._requested.pop(place.origin, None)

    def _read(self, place: Place) -> bool:
        return bool(self._parts.logic.reads.readers(allocation_read(*place)))

    def _carried(self, origin: str) -> bool:
        """Whether an object of this owner's making is still there that the owner itself no longer claims."""
        book = self._parts.book
        return any(all(key.uuid != origin for key in book.on(name)) for name in self._carriers(origin))
