"""The bounded journal: a ring of lines, appended to on the hot path, searched only on request, and followed.

Why no index: appending must cost next to nothing for every evaluation, and searching ten thousand lines for one
question takes a millisecond. For the same reason followers are woken by comparing two integers, and read new lines from
the ring: there is no queue that a slow follower could fill. It also keeps the last names of deleted resources, which
lines mention by their keys.
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

import msgspec

from intentc.model import Key, Name


class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="evaluation"):
    """One evaluation of ``origin`` when everything up to ``revision`` was applied.

    ``path``: the keys from the changed resource (the source) to ``origin``, both included, through facts as well; empty
    if nothing in the store led here. A run that waited or failed keeps its path for the run that resumes it.
    ``status``: how it ended (``done``, ``waiting``, …). ``claims``: the number it yielded. ``objects``: those whose
    claims it changed. ``at``: seconds since 1970. ``source_revision``: the source's last mod revision, if known then; 0
    if the source was deleted, or there is no path.
    """

    revision: int
    origin: Key
    path: tuple[Key, ...]
    status: str
    claims: int
    objects: tuple[Name, ...]
    at: float = msgspec.field(default_factory=time.time)
    source_revision: int = 0

    @property
    def source(self) -> Key:
        """The resource whose change led to this evaluation."""
        return self.path[0] if self.path else self.origin


class Write(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="write"):
    """One write of the object ``name`` that the API server acknowledged.

    ``revision``: the applied revision when it was planned. ``operation``: ``create``, ``update``, … ``written``: the
    revision in the server's answer, None if it had none. ``drift``: it repairs another writer's change. ``at``: seconds
    since 1970. ``uuid``: the object's, empty if not known. ``fields``: the names of the fields that it set in an
    existing object, references as ``KIND_refs``.
    """

    revision: int
    name: Name
    operation: str
    written: int | None
    drift: bool = False
    at: float = msgspec.field(default_factory=time.time)
    uuid: str = ""
    fields: tuple[str, ...] = ()


Line = Entry | Write


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A line with its ``sequence``: 1 for the first line of a process, then consecutive; 0 if it is from a file."""

    sequence: int
    line: Line


def touches(line: Line, name: Name) -> bool:
    """Whether a line is about an object: a write of it, or an evaluation that changed claims on it."""
    return line.name == name if isinstance(line, Write) else name in line.objects


_LINE, _NAME, _KEY, _FIELD = 250, 400, 130, 80
"""Bytes of memory for a line, a name, a key and a field's name in it, if nothing else keeps them: long names of four
parts, measured with ``sys.getsizeof``. Names that share their texts with the world take less."""
_FOLLOWERS = 64
_PACE = 0.1
"""Seconds between two deliveries to one follower; lines in between are delivered together."""
_AT_ONCE = 500
_NOBODY = sys.maxsize


class TooManyFollowers(Exception):
    """The limit of followers is reached; the message gives their number."""


class Void(NamedTuple):
    """The store was restored to ``revision`` ``at`` (seconds since 1970): what was done later is void. ``last``: the
    sequence of the newest line that was dropped."""

    revision: int
    at: float
    last: int


class Delivery(NamedTuple):
    """A delivery to one follower: lines in order, and how many before them it missed by being slow."""

    missed: int
    lines: tuple[Kept, ...]


class Journal:
    """Keeps the last ``size`` lines, or fewer if they take more than about ``size_bytes`` of memory (one line is always
    kept); older ones are dropped.

    ``last``: the sequence of the newest line, 0 if there never was one. ``writer``: installation/process whose lines
    these are. ``names``: the last names of deleted resources that lines may mention. ``directory``: where lines are
    also kept (``keeping``), None if nowhere. ``void``: the last time that all lines were dropped, None if never.
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
        """Waiting follower → the sequence that it waits for."""
        self._followers = 0

    def add(self, entry: Entry) -> None:
        """Record an evaluation."""
        self._lines.append(entry)
        self.last += 1
        self._bytes += _LINE + _NAME * len(entry.objects) + _KEY * len(entry.path)
        if self._bytes > self._size_bytes or len(self._lines) > self.size:
            self._shorten()
        if self.last >= self._due:
            self._wake()

    def wrote(self, write: Write) -> None:
        """Record a write."""
        self._lines.append(write)
        self.last += 1
        self._bytes += _LINE + _NAME + _FIELD * len(write.fields)
        if self._bytes > self._size_bytes or len(self._lines) > self.size:
            self._shorten()
        if self.last >= self._due:
            self._wake()

    def remember_name(self, key: Key, name: str) -> None:
        """Keep the name (fq_name joined by ``:``) of a deleted resource, since lines mention it by its key."""
        self.names.pop(key, None)
        self.names[key] = name
        if len(self.names) > self.size:
            del self.names[next(iter(self.names))]

    def clear(self, revision: int = 0) -> None:
        """Drop all lines, since the store was restored to ``revision``. Sequences continue."""
        self._lines.clear()
        self._bytes = 0
        self.void = Void(revision, time.time(), self.last)

    @property
    def first(self) -> int:
        """The sequence of the oldest line; one more than ``last`` if there is none."""
        return self.last - len(self._lines) + 1

    @property
    def size_bytes(self) -> int:
        """The estimated memory of the lines."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        """All lines, oldest first."""
        return iter(tuple(self._lines))

    def newest_first(self) -> Iterator[Line]:
        """All lines, newest first; add none meanwhile."""
        return reversed(self._lines)

    def after(self, sequence: int, limit: int = _AT_ONCE) -> tuple[Kept, ...]:
        """The lines after ``sequence``, oldest first, at most ``limit``."""
        begin = max(sequence + 1, self.first)
        count = self.last - begin + 1
        if count <= 0:
            return ()
        newest_first = tuple(islice(reversed(self._lines), max(0, count - limit), count))
        return tuple(map(Kept, range(begin, begin + len(newest_first)), reversed(newest_first)))

    def about(self, name: Name) -> tuple[Line, ...]:
        """The lines about an object, oldest first: its writes, and the evaluations that changed claims on it."""
        return tuple(line for line in self if touches(line, name))

    def of(self, key: Key) -> tuple[Line, ...]:
        """The lines caused by one intent, oldest first: its own evaluations, those that its changes triggered, and the
        writes of objects on which its own evaluations changed claims before."""
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
        """Return once a line with this sequence exists or existed."""
        while self.last < sequence:
            reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[reached] = sequence
            self._due = min(self._due, sequence)
            try:
                await reached
            finally:
                self._waiting.pop(reached, None)

    async def follow(self, after: int) -> AsyncGenerator[Delivery, None]:
        """The lines after ``after``, then new ones, without end. An unknown sequence (of another process) counts as 0.
        Raises ``TooManyFollowers``."""
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
        for reached, sequence in self._waiting.items():
            if sequence <= self.last and not reached.done():
                reached.set_result(None)
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
