"""What a refusal by Envoy means: who is to blame, what is recorded, and what is tried next.

Why it exists: one verdict for all streams. Several Envoys refuse the same thing, one after the other; and what another
Envoy has acknowledged is not taken away for one that refuses it. How the guilty is found among several is the rule of
``standing``; writing it down is left to ``records``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

from .element_states import Key, Standing, half, lists_names, named
from .elements import Rejection
from .encoding import Version
from .kinds import ROUTE, SECRET, Type
from .retrying import Retries
from .world import World

_LOG = logging.getLogger(__name__)
_LONGEST_MESSAGE = 1_000

Record = Callable[[Key, Rejection | None], None]
"""Told what to write of an element; None for nothing any more."""


def meanwhile(standing: Standing) -> str:
    """What is in force in place of what is refused, in words, if it is not the last good version."""
    if standing.unguarded:
        return f"its last good version lacks {', '.join(standing.unguarded)}: until it is mended nobody listens there"
    if standing.last_good is not None or standing.wanted is None or standing.wanted.element.kind != ROUTE:
        return ""
    if standing.stand_ins:
        return "until it is mended its requests are answered with 503"
    return "it is left out, and not even 503 in its place is accepted: its requests go to other routes"


class Judge:
    """Finds whom Envoy means, and sets the world right. ``clock`` gives seconds."""

    def __init__(self, world: World, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self.retries = Retries(world, clock)
        self._world = world
        self._record = record
        world.on_regained = self.write_down

    def refused(self, kind: Type, names: set[str] | None, trial: list[Version], message: str) -> bool:
        """An Envoy refused resources of a type called ``names`` (None: all), in which ``trial`` were on trial. False if
        nobody can be blamed, so that it would refuse the same again."""
        standings = self._world.standings
        if lists_names(message):
            return self._named(kind, names, trial, message)
        if self._world.drop_formers(trial):
            return True
        suspects = standings.suspects(trial)
        if suspects is None:
            return True
        if not suspects:
            return self._acknowledged_once(kind, names, message)
        if len(suspects) == 1:
            self.blame(suspects[0].key, message)
            return True
        back = half(message, suspects)
        _LOG.info("looking among %d for what Envoy refuses: %s", len(suspects), message[:_LONGEST_MESSAGE])
        standings.suspend(kind, back, suspects)
        for version in back:
            self._world.enforce(version.key)
        return True

    def _named(self, kind: Type, names: set[str] | None, trial: list[Version], message: str) -> bool:
        """The others in the same response were taken: whatever has become of them, only the named ones matter."""
        found = named(message, trial, self._world.members(kind, names))
        self._world.drop_formers([version for version, _ in found])
        for version, why in found:
            if self._world.standings.suspects([version]):
                self.blame(version.key, why)
        return bool(found) or self._acknowledged_once(kind, names, message)

    def blame(self, key: Key, message: str) -> None:
        """``key`` as it is wanted is not offered any more, and recorded as refused."""
        standing = self._world.standings.get(key)
        if standing is None or standing.wanted is None:
            return
        self._world.standings.refuse(key, message[:_LONGEST_MESSAGE])
        element = standing.wanted.element
        extra = {"key": " ".join(key), "revision": element.revision}
        news = self.retries.refused(key) if key in self._world.standings.displaced else True
        self._world.enforce(key)
        if not news:
            _LOG.info("%s %s waits for its address: %s", *key, message, extra=extra)
            return
        _LOG.error("Envoy refuses %s %s: %s", *key, message[:_LONGEST_MESSAGE], extra=extra)
        self.write_down(key)

    def write_down(self, key: Key) -> None:
        """Record that what is wanted of ``key`` is refused."""
        standing = self._world.standings.get(key)
        if standing is None or standing.wanted is None:
            return
        wanted, good = standing.wanted, standing.last_good
        # What is secret stays where it is kept already.
        kept = msgspec.json.decode(good.config) if good is not None and key[0] != SECRET else None
        rejection = Rejection(
            key[0],
            key[1],
            wanted.digest,
            standing.refused,
            wanted.element.origins,
            kept,
            good.element.guards if good is not None else (),
            meanwhile(standing),
        )
        self._record(key, rejection)

    def _acknowledged_once(self, kind: Type, names: set[str] | None, message: str) -> bool:
        world = self._world
        if len(world.streams) > 1:
            shown = message[:_LONGEST_MESSAGE]
            _LOG.error("one Envoy refuses what others have in force; it is left with what it has: %s", shown)
            return False
        members = world.members(kind, names)
        if lists_names(message):
            found = named(message, members)
            for version, why in found:
                self.blame(version.key, why)
            return bool(found)
        doubted = world.doubt(members)
        if len(doubted) == 1:
            self.blame(doubted[0].key, message)
        elif doubted:
            back = half(message, doubted)
            world.standings.suspend(kind, back, doubted)
            for version in back:
                world.enforce(version.key)
        return bool(doubted)
