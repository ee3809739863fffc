"""Analyzes rejections by Envoy: finds the element that caused one, records it, and decides what to try next.

Why it exists: all streams need one result. Several Envoys reject the same element, one after the other, and an element
that another Envoy has acknowledged is not withdrawn because one rejects it. ``element_states`` searches for the cause
among several elements; ``retrying`` tries listeners again whose address was in use; ``records`` writes to etcd.

It changes the world's element states and what is in force, and passes what to record to its caller.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

from .element_states import ElementState, Key, half, lists_names, named
from .elements import Rejection
from .encoding import Version
from .kinds import ROUTE, SECRET, Type
from .rejection_log import RejectionLog
from .retrying import Retries
from .world import World

_LOG = logging.getLogger(__name__)
_LONGEST_MESSAGE = 1_000

Record = Callable[[Key, Rejection | None], None]
"""Called with the rejection to record about an element; None removes the record."""


def meanwhile(state: ElementState) -> str:
    """Describes what is in force in place of a rejected version; empty if that is the last good version."""
    if state.unguarded:
        return f"its last good version lacks {', '.join(state.unguarded)}: until it is fixed nobody listens there"
    if state.last_good is not None or state.wanted is None or state.wanted.element.kind != ROUTE:
        return ""
    if state.fallbacks:
        return "until it is fixed its requests are answered with 503"
    return "it is left out, and not even 503 in its place is accepted: its requests go to other routes"


class RejectionAnalyzer:
    """Finds the elements that Envoy rejects and withdraws them from the world. ``clock`` gives seconds."""

    def __init__(self, world: World, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self.retries = Retries(world, clock)
        self._log = RejectionLog(clock)
        self._world = world
        self._record = record
        world.on_regained = self.write_down

    def on_rejection(self, kind: Type, names: set[str] | None, trial: list[Version], message: str) -> bool:
        """Handle an Envoy's rejection of the resources ``names`` (None: all), in which ``trial`` are on trial.

        Returns False if no element can be blamed, so that the Envoy would reject the same resources again.
        """
        states = self._world.states
        if lists_names(message):
            return self._named(kind, names, trial, message)
        if self._world.drop_predecessors(trial):
            return True
        suspects = states.suspects(trial)
        if suspects is None:
            return True
        if not suspects:
            return self._acknowledged_once(kind, names, message)
        if len(suspects) == 1:
            self.blame(suspects[0].key, message)
            return True
        back = half(message, suspects)
        shown = message[:_LONGEST_MESSAGE]
        level = self._log.level("search", shown, logging.INFO)
        _LOG.log(level, "searching %d elements for the one that Envoy rejects: %s", len(suspects), shown)
        states.suspend(kind, back, suspects)
        for version in back:
            self._world.enforce(version.key)
        return True

    def _named(self, kind: Type, names: set[str] | None, trial: list[Version], message: str) -> bool:
        """Handle a rejection that names elements. Envoy took the others of the response, so only those matter."""
        found = named(message, trial, self._world.members(kind, names))
        self._world.drop_predecessors([version for version, _ in found])
        for version, why in found:
            if self._world.states.suspects([version]):
                self.blame(version.key, why)
        return bool(found) or self._acknowledged_once(kind, names, message)

    def blame(self, key: Key, message: str) -> None:
        """Stop offering the wanted version of ``key``, and record it as rejected."""
        state = self._world.states.get(key)
        if state is None or state.wanted is None:
            return
        self._world.states.reject(key, message[:_LONGEST_MESSAGE])
        element = state.wanted.element
        extra = {"key": " ".join(key), "revision": element.revision}
        is_new = self.retries.on_rejection(key) if key in self._world.states.displaced else True
        self._world.enforce(key)
        if not is_new:
            _LOG.info("%s %s waits for its address: %s", *key, message, extra=extra)
            return
        shown = message[:_LONGEST_MESSAGE]
        level = self._log.level(" ".join(key), shown, logging.ERROR)
        _LOG.log(level, "Envoy rejects %s %s: %s", *key, shown, extra=extra)
        self.write_down(key)

    def write_down(self, key: Key) -> None:
        """Record that the wanted version of ``key`` is rejected."""
        state = self._world.states.get(key)
        if state is None or state.wanted is None:
            return
        wanted, good = state.wanted, state.last_good
        # A secret is not copied into another record.
        kept = msgspec.json.decode(good.config) if good is not None and key[0] != SECRET else None
        rejection = Rejection(
            key[0],
            key[1],
            wanted.digest,
            state.rejection,
            wanted.element.origins,
            kept,
            good.element.guards if good is not None else (),
            meanwhile(state),
        )
        self._record(key, rejection)

    def _acknowledged_once(self, kind: Type, names: set[str] | None, message: str) -> bool:
        world = self._world
        if len(world.streams) > 1:
            shown = message[:_LONGEST_MESSAGE]
            level = self._log.level("in force", shown, logging.WARNING)
            _LOG.log(level, "one Envoy rejects what others have in force; it keeps what it has: %s", shown)
            return False
        members = world.members(kind, names)
        if lists_names(message):
            found = named(message, members)
            for version, why in found:
                self.blame(version.key, why)
            return bool(found)
        doubted = world.put_on_trial_again(members)
        if len(doubted) == 1:
            self.blame(doubted[0].key, message)
        elif doubted:
            back = half(message, doubted)
            world.states.suspend(kind, back, doubted)
            for version in back:
                world.enforce(version.key)
        return bool(doubted)
