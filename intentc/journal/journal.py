"""The bounded journal: a ring of lines, appended to on the hot path, searched only when somebody asks.

Why no index: appending must cost next to nothing for every evaluation, and looking through ten thousand lines for
one question takes a millisecond. For the same reason followers are woken by a comparison of two integers, and take
from the ring what has come: there is no queue that a slow one could fill.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from intentc.model import Key, Name

from .entries import Entry, Kept, Line, Write, touches

_LINE, _NAME, _KEY, _FIELD = 250, 400, 130, 80
"""Bytes that a line, a name, a key and a field's name in it take in memory, where nobody else keeps them: long names of
four parts, measured with ``sys.getsizeof``. Names that share their texts with the world take less."""
_FOLLOWERS = 64
_PACE = 0.1
"""Seconds between two deliveries to one follower: what comes meanwhile comes together."""
_AT_ONCE = 500
_NOBODY = sys.maxsize


class TooManyFollowers(Exception):
    """No further one is taken; the message says how many there are."""


class Void(NamedTuple):
    """The store was put back to ``revision`` ``at`` (seconds since 1970): what was done later than that is void."""

    revision: int
    at: float


class Delivery(NamedTuple):
    """What one follower gets at once: lines in their order, and how many before them it was too slow for."""

    missed: int
    lines: tuple[Kept, ...]


class Journal:
    """Keeps the last ``size`` lines, and fewer if they would take more than about ``size_bytes`` of memory (one line
    is kept in any case); older ones go.

    ``last``: the sequence of the newest line, 0 if there never was one. ``writer``: installation/process whose lines
    these are. ``names``: the last names of resources that are gone, so far as lines may tell of them. ``directory``:
    where lines are kept besides (``keeping``), None if nowhere. ``void``: the last time that all was forgotten, None
    if it never was.
    """

    def __init__(self, size: int = 10_000, size_bytes: int = 32_000_000, writer: str = "") -> None:
        self.writer = writer
        self.names: dict[Key, str] = {}
        self.directory: Path | None = None
        self.void: Void | None = None
        self._lines: deque[Line] = deque()
        self.size = size
        self._size_bytes = size_bytes
        self._bytes = 0
        self.last = 0
        self._due = _NOBODY
        self._waiting: dict[asyncio.Future[None], int] = {}
        """Who waits → for which sequence."""
        self._followers = 0

    def add(self, entry: Entry) -> None:
        """Note an evaluation."""
        self._lines.append(entry)
        self.last += 1
        self._bytes += _LINE + _NAME * len(entry.objects) + _KEY * len(entry.path)
        if self._bytes > self._size_bytes or len(self._lines) > self.size:
            self._shorten()
        if self.last >= self._due:
            self._wake()

    def wrote(self, write: Write) -> None:
        """Note a write."""
        self._lines.append(write)
        self.last += 1
        self._bytes += _LINE + _NAME + _FIELD * len(write.fields)
        if self._bytes > self._size_bytes or len(self._lines) > self.size:
            self._shorten()
        if self.last >= self._due:
            self._wake()

    def gone(self, key: Key, name: str) -> None:
        """A resource of this name (fq_name joined by ``:``) goes: lines tell of it by its key."""
        self.names.pop(key, None)
        self.names[key] = name
        if len(self.names) > self.size:
            del self.names[next(iter(self.names))]

    def clear(self, revision: int = 0) -> None:
        """Forget all: what was done after ``revision`` is void, since the store was put back to it. Sequences go on."""
        self._lines.clear()
        self._bytes = 0
        self.void = Void(revision, time.time())

    @property
    def first(self) -> int:
        """The sequence of the oldest line that is kept; one past ``last`` if there is none."""
        return self.last - len(self._lines) + 1

    @property
    def size_bytes(self) -> int:
        """What the lines take in memory, by estimation."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        """All lines, the oldest first."""
        return iter(tuple(self._lines))

    def newest_first(self) -> Iterator[Line]:
        """All lines, the newest first; none may be added meanwhile."""
        return reversed(self._lines)

    def after(self, sequence: int, limit: int = _AT_ONCE) -> tuple[Kept, ...]:
        """The lines that follow ``sequence``, the oldest first, at most ``limit``."""
        begin = max(sequence + 1, self.first)
        count = self.last - begin + 1
        if count <= 0:
            return ()
        newest_first = tuple(islice(reversed(self._lines), max(0, count - limit), count))
        return tuple(map(Kept, range(begin, begin + len(newest_first)), reversed(newest_first)))

    def about(self, name: Name) -> tuple[Line, ...]:
        """The lines about an object, the oldest first: its writes, and the evaluations that changed claims on it."""
        return tuple(line for line in self if touches(line, name))

    def of(self, key: Key) -> tuple[Line, ...]:
        """The lines that go back to one intent, the oldest first: its own evaluations, those that a change of it led
        to, and the writes of objects on which its own evaluations changed claims before."""
        found: list[Line] = []
        touched: set[Name] = set()
        for line in self:
            if isinstance(line, Write):
                if line.name in touched:
                    found.append(line)
            elif line.origin == key or line.source == key:
                found.append(line)
                touched.update(line.objects)
        return tuple(found)

    async def reached(self, sequence: int) -> None:
        """Return once there is a line of this sequence, at once if there was."""
        while self.last < sequence:
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[told] = sequence
            self._due = min(self._due, sequence)
            try:
                await told
            finally:
                self._waiting.pop(told, None)

    async def follow(self, after: int) -> AsyncGenerator[Delivery, None]:
        """The lines that follow ``after``, then those that come, for ever. A sequence that was never given (of another
        process) counts as 0. Raises ``TooManyFollowers``."""
        sequence = after if after <= self.last else 0
        with self._following():
            while True:
                lines = self.after(sequence)
                if lines:
                    missed = lines[0].sequence - sequence - 1 if sequence else 0
                    sequence = lines[-1].sequence
                    yield Delivery(missed, lines)
                    await asyncio.sleep(_PACE)
                else:
                    await self.reached(self.last + 1)

    @contextmanager
    def _following(self) -> Iterator[None]:
        if self._followers >= _FOLLOWERS:
            raise TooManyFollowers(f"{self._followers} others follow the journal already")
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1

    def _wake(self) -> None:
        for told, sequence in self._waiting.items():
            if sequence <= self.last and not told.done():
                told.set_result(None)
        self._due = min((s for s in self._waiting.values() if s > self.last), default=_NOBODY)

    def _shorten(self) -> None:
        lines = self._lines
        while len(lines) > 1 and (self._bytes > self._size_bytes or len(lines) > self.size):
            line = lines.popleft()
            self._bytes -= _LINE
            if isinstance(line, Entry):
                self._bytes -= _NAME * len(line.objects) + _KEY * len(line.path)
            else:
                self._bytes -= _NAME + _FIELD * len(line.fields)
