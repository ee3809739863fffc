"""When a listener whose address was in use is tried again.

Why it exists: every other refusal is about what the element says, and trying it again would prove nothing. An address
becomes free by what others do: at once when one of our listeners leaves it, and else, since nobody tells us of other
programs, after 1 s, then less and less often, up to every 30 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .element_states import Key
from .encoding import Version
from .world import World

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 30.0


class _Attempt:
    """At having ``version`` accepted. ``delay``: seconds, that ended or end at ``due``; ``heard``: the serial up to
    which it counts no more that one of its addresses was left."""

    def __init__(self, version: Version, due: float, heard: int) -> None:
        self.version = version
        self.delay = FIRST_SECONDS
        self.due = due
        self.heard = heard


class Retries:
    """Of all listeners whose address was in use. ``clock`` gives seconds."""

    def __init__(self, world: World, clock: Callable[[], float] = time.monotonic) -> None:
        self._world = world
        self._clock = clock
        self._attempts: dict[Key, _Attempt] = {}

    def refused(self, key: Key) -> bool:
        """An Envoy has just refused what is wanted of ``key`` for its address. Whether that is news: not while another
        listener of ours has the address, or has left it without the Envoy's knowing, and it is the first time."""
        standing = self._world.standings.get(key)
        if standing is None or standing.wanted is None:
            return False
        version, attempt = standing.wanted, self._attempts.get(key)
        if attempt is not None and attempt.version is version:
            attempt.delay = min(2 * attempt.delay, LONGEST_SECONDS)
            attempt.due = self._clock() + attempt.delay
            return True
        attempt = self._begin(key, version, self._heard())
        addresses = self._world.addresses
        left = addresses.last_left(version.addresses) > attempt.heard
        return not (left or addresses.had_by_another(key, version.addresses))

    def sweep(self) -> None:
        """Offer again whose time has come, or whose address was left."""
        standings, addresses = self._world.standings, self._world.addresses
        for key in sorted(standings.displaced):
            standing = standings.get(key)
            if standing is None or standing.wanted is None:
                continue
            attempt = self._attempts.get(key)
            if attempt is None or attempt.version is not standing.wanted:
                # Known from a record: a former process, or another server, was refused it.
                attempt = self._begin(key, standing.wanted, self._world.serial)
            left = addresses.last_left(attempt.version.addresses)
            if left > attempt.heard or attempt.due <= self._clock():
                attempt.heard = max(attempt.heard, left)
                standings.try_again(key)
                self._world.enforce(key)
        addresses.forget(self._heard())
        for key, attempt in list(self._attempts.items()):
            standing = standings.get(key)
            if standing is None or standing.wanted is not attempt.version or standing.good is attempt.version:
                del self._attempts[key]

    def wait(self) -> float | None:
        """Seconds until the next is due; None while nobody waits."""
        waiting = self._world.standings.displaced
        times = [attempt.due for key, attempt in self._attempts.items() if key in waiting]
        return max(0.0, min(times) - self._clock()) if times else None

    def _begin(self, key: Key, version: Version, heard: int) -> _Attempt:
        attempt = self._attempts[key] = _Attempt(version, self._clock() + FIRST_SECONDS, heard)
        return attempt

    def _heard(self) -> int:
        """The serial up to which every Envoy has answered that is waited for."""
        world = self._world
        return int(min(world.answers.heard(world.serial), world.serial))
