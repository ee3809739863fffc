"""Reports problems of objects of the cluster as Events on them: what can't be mirrored, and what compilers report.

Why it exists: a user who applies an object looks at that object, not at ``/status`` of the bridge or of a compiler. A
problem gets one Event when it begins. Many problems must not flood the cluster with Events: those above the limit come
later, and those that began since this process leads come first. An Event that exists already, which a former process
wrote, costs nothing of the limit.

State: what was reported since this process leads, which problems it found then, what is left of the limit, and pauses.
It writes to the cluster, by ``events``.

Touches: clock; through others: environment, files, HTTP, logs, processes, randomness, sockets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import anyio

from intentc.model import Key

from .events import Events, Regarding, Result

_MOST = 100
"""Events of this sort in ``_SECONDS``."""
_SECONDS = 600.0
_AGAIN_SECONDS = 30.0
"""After a cluster that took none."""


class Note(NamedTuple):
    """What an Event says. ``reason`` and ``action``: in CamelCase, as Kubernetes has them."""

    reason: str
    action: str
    words: str


Notes = Mapping[Key, tuple[Note, ...]]


class ProblemEvents:
    """Reports. ``problems``: the present ones of all kinds; ``regarding``: such an object, None if it is not known, or
    its kind no longer served; ``may_write``: whether this process leads."""

    def __init__(
        self,
        events: Events,
        problems: Callable[[], Notes],
        regarding: Callable[[Key], Regarding | None],
        may_write: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = events
        self._problems = problems
        self._regarding = regarding
        self._may_write = may_write
        self._clock = clock
        self._reported: dict[Key, tuple[Note, ...]] = {}
        self._former: set[tuple[Key, Note]] | None = None
        """The problems from before this process led; None: it does not lead."""
        self._left = _MOST
        self._full_at = clock() + _SECONDS
        self._paused_until = 0.0

    @property
    def reported(self) -> int:
        """How many of the present problems were reported since this process leads."""
        return sum(map(len, self._reported.values()))

    async def run(self, seconds: float) -> None:
        """Look every ``seconds`` until cancelled."""
        while True:
            await anyio.sleep(seconds)
            await self.report()

    async def report(self) -> None:
        """Report what was not reported yet."""
        if not self._may_write():
            self._reported.clear()
            self._former = None
            return
        problems, now = self._problems(), self._clock()
        if now < self._paused_until:
            return
        if now >= self._full_at:
            self._left, self._full_at = _MOST, now + _SECONDS
        for key, notes in self._due(problems):
            about = self._regarding(key)
            for note in notes if about is not None else ():
                if self._left == 0:
                    return
                if about is None or await self._report(about, note) is Result.FAILED:
                    self._paused_until = now + _AGAIN_SECONDS
                    return
                self._reported[key] = (*self._reported.get(key, ()), note)

    async def _report(self, about: Regarding, note: Note) -> Result:
        result = await self._events.report(about, *note)
        if result is Result.CREATED:
            self._left -= 1
        return result

    def _due(self, problems: Notes) -> list[tuple[Key, list[Note]]]:
        """What was not reported yet, the new problems first. Forgets what ended."""
        for key in self._reported.keys() - problems.keys():
            del self._reported[key]
        found = []
        for key, notes in problems.items():
            reported = self._reported.get(key, ())
            if reported == notes:
                continue
            if reported:
                self._reported[key] = reported = tuple(note for note in reported if note in notes)
            if due := [note for note in notes if note not in reported]:
                found.append((key, due))
        if self._former is None:
            self._former = {(key, note) for key, notes in found for note in notes}
        former = self._former
        return sorted(found, key=lambda one: all((one[0], note) in former for note in one[1]))
