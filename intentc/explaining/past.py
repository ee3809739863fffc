"""What is remembered of an object and of the intents behind it: when they were evaluated last and by which path, when
it was written last and by whom, and the last lines about it.

Lines come from the ring in memory and, where that tells nothing since the start, from the ring of files, if there is
one. How they are shown is ``journalled``'s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from intentc.engine import Engine
from intentc.journal import Entry, Line, Write, touches
from intentc.journal.records import Evaluation, mark_of_object, mark_of_resource
from intentc.journal.searching import search
from intentc.model import Key, Name

BEFORE = "before this start"
JOURNAL = "journal"
FILES = "files"

_IN_A_ROW = 500
"""Lines looked at before the loop gets its turn."""
_HISTORY = 20
_MARKS = 20
"""Intents of one object that are looked for in files."""


class Told(NamedTuple):
    """One line, and where it stands (``JOURNAL`` or ``FILES``). ``by``: installation/process that wrote it. ``names``:
    names of resources as they were then, where a file tells them."""

    line: Line
    told_by: str
    by: str
    sequence: int = 0
    names: dict[Key, str] = {}  # noqa: RUF012 - never changed


class Remembered(NamedTuple):
    """What is known of an object's past. ``evaluations``: intent → its last evaluation; an intent of which nothing is
    known is missing. One with ``told_by`` ``BEFORE`` was evaluated in this process, but only since it started: by
    which path it came to what it is, nobody knows. ``written``: the last write of the object. ``history``: the last
    lines about it, the oldest first. ``complete``: nothing of this process was dropped from the ring, so what is
    missing was before this start."""

    evaluations: dict[Key, Told]
    written: Told | None
    history: tuple[Told, ...]
    complete: bool


async def remembered(engine: Engine, name: Name | None, intents: Collection[Key]) -> Remembered:
    """The past of an object; of a higher-level resource alone with ``name`` None: then the history is its own."""
    journal = engine.parts.journal
    past = _Past(name, intents)
    last, lines = journal.last, tuple(journal)
    for number, line in enumerate(reversed(lines)):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            await asyncio.sleep(0)
        at_start = isinstance(line, Entry) and engine.intake.at_start(line)
        past.add(Told(line, JOURNAL, journal.writer, last - number), at_start=at_start)
        if past.known:
            break
    if journal.directory is not None and not past.known:
        since = lines[0].at if lines else float("inf")
        await asyncio.to_thread(_recall, past, journal.directory, (journal.writer, since), engine.parts.logic.revision)
    return past.remembered(complete=journal.first == 1)


def _recall(past: _Past, directory: Path, ring: tuple[str, float], revision: int) -> None:
    """Add what files tell, the newest first. ``ring``: whose lines from when on are in memory. ``revision``: lines of
    later ones are of a future that never was, since the store was put back."""
    writer, since = ring
    for found in search(directory, past.marks()):
        if (found.writer == writer and found.record.at >= since) or found.record.revision > revision:
            continue
        record = found.record
        at_start = isinstance(record, Evaluation) and record.at_start
        past.add(Told(record.line(), FILES, found.writer, 0, record.names()), at_start=at_start)
        if past.known:
            return


class _Past:
    """What is remembered so far; lines are added the newest first."""

    def __init__(self, name: Name | None, intents: Collection[Key]) -> None:
        self._name = name
        self._intents = frozenset(intents)
        self._evaluations: dict[Key, Told] = {}
        self._started: dict[Key, Told] = {}
        """Those that only a start led to: good for nothing once an earlier line tells more."""
        self._written: Told | None = None
        self._history: list[Told] = []
        self._lines: set[Line] = set()

    @property
    def known(self) -> bool:
        """Whether no earlier line could tell more."""
        written = self._name is None or self._written is not None
        return written and len(self._history) == _HISTORY and len(self._evaluations) == len(self._intents)

    def marks(self) -> list[bytes]:
        """What stands in the lines that could."""
        about = [mark_of_object(self._name)] if self._name is not None else []
        return [*about, *map(mark_of_resource, sorted(self._intents)[:_MARKS])]

    def add(self, told: Told, *, at_start: bool) -> None:
        line = told.line
        if isinstance(line, Write):
            if line.name != self._name:
                return
            self._written = self._written or told
        elif line.origin in self._intents and line.origin not in self._evaluations:
            # One that was at the start, and after which this process wrote the object, made it what it is.
            wrote = self._written is not None and self._written.by == told.by
            if not at_start or wrote:
                self._evaluations[line.origin] = told
            else:
                self._started.setdefault(line.origin, told._replace(told_by=BEFORE))
        if len(self._history) < _HISTORY and self._is_about(line) and line not in self._lines:
            self._lines.add(line)
            self._history.append(told)

    def remembered(self, *, complete: bool) -> Remembered:
        oldest_first = self._history[::-1]  # of lines at the same moment, too
        history = sorted(oldest_first, key=lambda told: told.line.at)
        return Remembered({**self._started, **self._evaluations}, self._written, tuple(history), complete)

    def _is_about(self, line: Line) -> bool:
        if self._name is not None:
            return touches(line, self._name)
        return isinstance(line, Entry) and (line.origin in self._intents or line.source in self._intents)
