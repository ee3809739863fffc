"""Tracks how far each Envoy has answered what was published, and which Envoys are silent.

Why it exists: an element that Envoys may still use is removed only once every Envoy has answered the change. A stream
that receives a response and never answers it, or does not even receive it, would keep removed elements in force for all
others. So a stream that is behind and has made no progress for ``SILENCE_SECONDS`` counts as silent, and is not waited
for until it makes progress again. Its configuration stays consistent: ``session`` sends removed clusters last.

State: the connected streams, and the last progress of each. ``ads`` adds and removes streams; ``world``, ``retrying``
and ``serving`` ask how far they are.
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
    """One Envoy's stream. Everything up to ``serial`` was sent and answered; ``peer``: its address, for logs."""

    @property
    def serial(self) -> int: ...

    @property
    def peer(self) -> str: ...


class _Progress:
    """The progress of one stream: it has been behind at the same ``serial`` since ``since``."""

    def __init__(self, serial: int, since: float) -> None:
        self.serial = serial
        self.since = since
        self.silent = False


class StreamProgress:
    """The progress of all ``streams``. ``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.streams: set[Stream] = set()
        self._clock = clock
        self._progress: dict[Stream, _Progress] = {}

    def answered(self, published: int) -> float:
        """The serial up to which every stream that is not silent has answered; infinite without such a stream.

        ``published``: the last serial that there is to answer.
        """
        self._look(published)
        return min((one.serial for one in self._progress.values() if not one.silent), default=math.inf)

    @property
    def silent(self) -> int:
        """The number of silent streams at the last look."""
        return sum(one.silent for one in self._progress.values())

    def wait(self, published: int) -> float | None:
        """Seconds until the next stream becomes silent unless it makes progress; None if no stream is behind."""
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
                    "an Envoy has not answered for %g s; changes no longer wait for it: %s",
                    SILENCE_SECONDS,
                    stream.peer,
                )
            self._progress[stream] = known
