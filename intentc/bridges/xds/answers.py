"""How far Envoys have answered what was published, and which of them nobody waits for any more.

Why it exists: what Envoys may still use is taken away only once every Envoy has answered the change. A stream that
takes a response and never answers it, or does not even take it, would keep everything for all others for ever. So a
stream that is behind and has not moved on for ``SILENCE_SECONDS`` is not waited for until it moves on again. What it
has stays consistent all the same: ``session`` tells it removed clusters last.

Pure bookkeeping; who is connected is left to ``ads``, when to look to ``serving``.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Protocol

_LOG = logging.getLogger(__name__)

SILENCE_SECONDS = 60.0
"""An Envoy answers a round of changes within a second; one that is connected and needs a minute is stuck."""


class Stream(Protocol):
    """One Envoy's stream, as far as others depend on it: everything up to ``serial`` was told and answered. ``peer``:
    where it comes from, for people."""

    @property
    def serial(self) -> int: ...

    @property
    def peer(self) -> str: ...


class _Progress:
    """Of one stream: its ``serial`` has been the same since ``since``, and it has been behind all that time."""

    def __init__(self, serial: int, since: float) -> None:
        self.serial = serial
        self.since = since
        self.silent = False


class Answers:
    """Of all ``streams``. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.streams: set[Stream] = set()
        self._clock = clock
        self._progress: dict[Stream, _Progress] = {}

    def heard(self, published: int) -> float:
        """The serial up to which every stream that is waited for has answered, infinite if there is none; ``published``
        is the last one that there is to answer."""
        self._look(published)
        return min((one.serial for one in self._progress.values() if not one.silent), default=math.inf)

    @property
    def silent(self) -> int:
        """How many streams are not waited for, as of the last look."""
        return sum(one.silent for one in self._progress.values())

    def wait(self, published: int) -> float | None:
        """Seconds until the next stream is not waited for any more, if it does not move on; None if there is none."""
        self._look(published)
        behind = (one.since for one in self._progress.values() if not one.silent and one.serial < published)
        first = min(behind, default=None)
        return None if first is None else max(0.0, first + SILENCE_SECONDS - self._clock())

    def _look(self, published: int) -> None:
        now, before = self._clock(), self._progress
        self._progress = {}
        for stream in self.streams:
            known = before.get(stream)
            if known is None or known.serial != stream.serial or stream.serial >= published:
                if known is not None and known.silent:
                    _LOG.info("an Envoy answers again: %s", stream.peer)
                known = _Progress(stream.serial, now)
            elif not known.silent and now - known.since >= SILENCE_SECONDS:
                known.silent = True
                _LOG.warning(
                    "an Envoy has not answered for %g s, and the others do not wait for it any more: %s",
                    SILENCE_SECONDS,
                    stream.peer,
                )
            self._progress[stream] = known
