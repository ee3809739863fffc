"""Tries a listener again whose address was in use, and says whether its rejection is reported.

Why it exists: every other rejection is about the element itself, and trying the same version again would be useless. An
address becomes free when its user releases it. A release by one of our listeners is known, and the retry is immediate;
for other programs it backs off from 1 s to 30 s. ``rejections`` reports rejections, ``serving`` asks when a retry is
due.

State: the listeners to try again and when, in memory. It has the world offer them, and forget addresses that were
released.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .elements import Key
from .encoding import Version
from .world import World

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 30.0


class _Attempt:
    """The retries of one ``version``. ``delay``: seconds until ``due``; ``heard``: releases of its addresses up to this
    serial no longer count."""

    def __init__(self, version: Version, due: float, heard: int) -> None:
        self.version = version
        self.delay = FIRST_SECONDS
        self.due = due
        self.heard = heard


class Retries:
    """Schedules retries of all listeners whose address was in use. ``clock`` gives seconds."""

    def __init__(self, world: World, clock: Callable[[], float] = time.monotonic) -> None:
        self._world = world
        self._clock = clock
        self._attempts: dict[Key, _Attempt] = {}

    def on_rejection(self, key: Key) -> bool:
        """Note that an Envoy rejected the wanted version of ``key`` for its address. Returns whether to report that.

        A first rejection is not reported while another listener of ours has the address, or has released it and not
        every Envoy knows yet.
        """
        state = self._world.states.get(key)
        if state is None or state.wanted is None:
            return False
        version, attempt = state.wanted, self._attempts.get(key)
        if attempt is not None and attempt.version is version:
            attempt.delay = min(2 * attempt.delay, LONGEST_SECONDS)
            attempt.due = self._clock() + attempt.delay
            return True
        attempt = self._begin(key, version, self._heard())
        addresses = self._world.addresses
        left = addresses.last_left(version.addresses) > attempt.heard
        return not (left or addresses.had_by_another(key, version.addresses))

    def sweep(self) -> None:
        """Offer the listeners again whose retry is due or whose address was released."""
        states, addresses = self._world.states, self._world.addresses
        for key in sorted(states.displaced):
            state = states.get(key)
            if state is None or state.wanted is None:
                continue
            attempt = self._attempts.get(key)
            if attempt is None or attempt.version is not state.wanted:
                # Known from a record: an Envoy of a former process, or of another server, rejected it.
                attempt = self._begin(key, state.wanted, self._world.serial)
            left = addresses.last_left(attempt.version.addresses)
            if left > attempt.heard or attempt.due <= self._clock():
                attempt.heard = max(attempt.heard, left)
                self._world.try_again(key)
        addresses.forget(self._heard())
        for key, attempt in list(self._attempts.items()):
            state = states.get(key)
            if state is None or state.wanted is not attempt.version or state.good is attempt.version:
                del self._attempts[key]

    def wait(self) -> float | None:
        """Seconds until the next retry is due; None for none."""
        waiting = self._world.states.displaced
        times = [attempt.due for key, attempt in self._attempts.items() if key in waiting]
        return max(0.0, min(times) - self._clock()) if times else None

    def _begin(self, key: Key, version: Version, heard: int) -> _Attempt:
        attempt = self._attempts[key] = _Attempt(version, self._clock() + FIRST_SECONDS, heard)
        return attempt

    def _heard(self) -> int:
        """The serial up to which every Envoy that is not silent has answered."""
        world = self._world
        return int(min(world.progress.answered(world.serial), world.serial))
