"""What is ordered now, and pulling the levers on every difference.

Why apart from the watch: whatever is listed or watched comes through ``take``, so that a gap, a
duplicate or a missed event ends in the same as an order that came in time. When orders are read and withdrawn is
``watching``'s business, what a lever does the engine's.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from intentc.model import Change, InvalidInput, Key

from .actions import Levers
from .directive import AllowDeletes, Drop, Order, Pause, Retry, Suspect, decode

_LOG = logging.getLogger(__name__)

Place = tuple[str, str]
"""Sort, and what the order is about."""


@dataclass
class Known:
    """An order that lies in etcd. ``applied``: the levers were pulled. ``revoked``: a later retry undid it.
    ``withdrawn``: its deletion was asked for; it stays here until the watch tells."""

    order: Order
    mod_revision: int
    applied: bool = False
    revoked: bool = False
    withdrawn: bool = False


class Obeying:
    """The orders under ``prefix``, as one process obeys them. ``settled``: whether the world was looked through once,
    so that withheld deletes, and whether a resource changed, are known."""

    def __init__(self, prefix: str, levers: Levers, settled: Callable[[], bool]) -> None:
        self._prefix = prefix
        self._levers = levers
        self._settled = settled
        self._known: dict[Place, Known] = {}
        self._unreadable: dict[Place, int] = {}

    def take(self, changes: Iterable[Change], *, whole: bool) -> None:
        """Obey what was put and what was withdrawn. ``whole``: what isn't among ``changes`` isn't there.

        In the order in which orders were given: a suspicion that is older than a retry ends by it, a newer one stands.
        """
        given = sorted(changes, key=lambda change: change.mod_revision)
        if whole:
            there = {(change.kind, change.uuid) for change in given}
            for place in sorted((self._known.keys() | self._unreadable.keys()) - there):
                self._end(place)
        for change in given:
            place = (change.kind, change.uuid)
            if change.value is None:
                self._end(place)
            else:
                self._begin(place, change.value, change.mod_revision)

    def catch_up(self) -> bool:
        """Obey what had to wait until the world was looked through. True if there was anything."""
        put_off = [known for known in self._known.values() if not known.applied]
        for known in put_off:
            self._pull(known)
        return any(known.applied for known in put_off)

    def done(self) -> list[Known]:
        """The orders that may be withdrawn. What a retry revoked comes before the retry: whoever starts in between must
        not find it alone."""
        found = [known for known in self._known.values() if not known.withdrawn and self._is_done(known)]
        return sorted(found, key=lambda known: not known.revoked)

    @property
    def counts(self) -> dict[str, int]:
        """Sort → how many orders."""
        return dict(sorted(Counter(sort for sort, _ in self._known).items()))

    @property
    def unreadable(self) -> list[str]:
        """The keys of the orders that are ignored."""
        return [self._prefix + "/".join(place) for place in sorted(self._unreadable)]

    def knows(self, changes: Iterable[Change]) -> bool:
        """Whether ``changes``, a list of all orders, holds nothing new, and everything that is known."""
        known = {place: known.mod_revision for place, known in self._known.items()} | self._unreadable
        return known == {(change.kind, change.uuid): change.mod_revision for change in changes}

    def _begin(self, place: Place, value: bytes, mod_revision: int) -> None:
        try:
            order = decode(*place, value)
        except InvalidInput as error:
            if self._unreadable.get(place) != mod_revision:
                _LOG.warning("the order %s%s is ignored: %s", self._prefix, "/".join(place), error.message)
            self._end(place)
            self._unreadable[place] = mod_revision
            return
        self._unreadable.pop(place, None)
        known = self._known.get(place)
        if known is not None and (known.order, known.mod_revision) == (order, mod_revision):
            return
        self._known[place] = fresh = Known(order, mod_revision)
        _LOG.info("order %s%s", "/".join(place), _signed(order), extra={"revision": mod_revision})
        self._pull(fresh)

    def _pull(self, known: Known) -> None:
        levers = self._levers
        match known.order:
            case Pause() as order:
                levers.pause(order.key, order.name, f"paused{_signed(order)}")
            case Drop() as order:
                levers.drop(order.key, order.mod_revision)
            case Suspect() as order:
                if order.holds:
                    levers.suspect(order.key, order.mod_revision)
            case Retry() as order:
                self._revoke(order.key, known.mod_revision)
                _LOG.info("retry of %s: %d were quarantined", order.about, levers.retry(order.key))
            case AllowDeletes() as order:
                if not self._settled():
                    return
                _LOG.info("deletes of %s allowed: %d were withheld", order.kind, levers.allow_deletes(order.kind))
        known.applied = True

    def _revoke(self, key: Key | None, before: int) -> None:
        """A retry ends what was suspected or, if it names the one, given up before it."""
        for known in self._known.values():
            if known.mod_revision >= before:
                continue
            match known.order:
                case Suspect() as order if key in (None, order.key):
                    self._levers.unsuspect(order.key)
                    known.revoked = True
                case Drop() as order if key == order.key:
                    self._levers.undrop(order.key)
                    known.revoked = True

    def _end(self, place: Place) -> None:
        """The order was withdrawn. What was done once stays done."""
        self._unreadable.pop(place, None)
        known = self._known.pop(place, None)
        if known is None:
            return
        _LOG.info("order %s is withdrawn", "/".join(place))
        match known.order:
            case Pause() as order:
                self._levers.resume(order.key)
            case Drop() as order:
                self._levers.undrop(order.key)
            case Suspect() as order:
                self._levers.unsuspect(order.key)

    def _is_done(self, known: Known) -> bool:
        match known.order:
            case Retry() | AllowDeletes():
                return known.applied
            case Drop() | Suspect() as order:
                changed = self._settled() and self._levers.changed_since(order.key, order.mod_revision)
                return known.revoked or changed
            case _:
                return False


def _signed(order: Order) -> str:
    """`` by WHO at WHEN: WHY``, as far as it is told."""
    who = f" by {order.by}" if order.by else ""
    when = f" at {order.at}" if order.at else ""
    why = f": {order.reason}" if order.reason else ""
    return f"{who}{when}{why}"
