"""What is remembered of an object and of the intents behind it: when they were evaluated last and by which path, when
it was written last and by whom, and the last lines about it.

Lines come from the ring in memory and, where that tells nothing since the start, from the ring of files, if there is
one. How they are shown is ``journalled``'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from intentc.engine.engine import Engine
from intentc.journal import Entry, Line, Write, touches
from intentc.journal.records import Evaluation, mark_of_object, mark_of_resource
from intentc.journal.searching import MOST_SECONDS, search
from intentc.model import Key, Name

from ..lookup.disk_thread import aside

_LOG = logging.getLogger(__name__)
BEFORE = "before this start"
JOURNAL = "journal"
FILES = "files"

_IN_A_ROW = 500
"""Lines looked at before the loop gets its turn."""
_HISTORY = 20
_MARKS = 20
"""Intents of one object that are looked for in files."""
_WAIT = MOST_SECONDS + 1.0
"""Seconds for what files tell: a search ends by itself, a read that hangs doesn't."""


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
        past = await _with_files(past, journal.directory, engine.parts.logic.revision)
    return past.remembered(complete=journal.first == 1)


async def _with_files(past: _Past, directory: Path, revision: int) -> _Past:
    """The same with what files tell; the same if they can't be read in time."""
    try:
        # A copy: a thread that comes back late must not change what is being shown.
        past = await aside(partial(_recalled, past.copy(), directory, revision), name="journal search", within=_WAIT)
    except TimeoutError:
        _tell(directory)
    else:
        _tell.cache_clear()
    return past


@lru_cache(maxsize=1)
def _tell(directory: Path) -> None:
    """Say it; not again until they could be read."""
    _LOG.warning("the journal's files in %s can't be read in time; answers to why go without them", directory)


def _recalled(past: _Past, directory: Path, revision: int) -> _Past:
    """Add what files tell, the newest first. ``revision``: lines of later ones are of a future that never was, since
    the store was put back."""
    for found in search(directory, past.marks()):
        record = found.record
        if record.revision > revision:
            continue
        at_start = isinstance(record, Evaluation) and record.at_start
        past.add(Told(record.line(), FILES, found.writer, 0, record.names()), at_start=at_start)
        if past.known:
            break
    return past


def _oldest_first(newest_first: Collection[Told]) -> tuple[Told, ...]:
    """In the order in which it happened, by no clock, since one may have been wrong: lines of one process as it wrote
    them, those of several by what was applied, and what this process remembers after what files tell."""
    least: dict[str, int] = {}
    placed: list[tuple[tuple[bool, int], Told]] = []
    for told in newest_first:
        revision = told.line.revision
        least[told.by] = revision = min(revision, least.get(told.by, revision))
        placed.append(((told.sequence > 0, revision), told))
    placed.reverse()
    placed.sort(key=lambda one: one[0])
    return tuple(told for _, told in placed)


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
        """Those that were added: files tell again what is in memory."""

    def copy(self) -> _Past:
        """One that others may add to."""
        other = _Past(self._name, self._intents)
        other._evaluations, other._started = dict(self._evaluations), dict(self._started)
        other._written, other._history, other._lines = self._written, list(self._history), set(self._lines)
        return other

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
        about = self._is_about(line)
        own = isinstance(line, Entry) and line.origin in self._intents
        if not (about or own) or line in self._lines:
            return
        self._lines.add(line)
        if isinstance(line, Write):
            self._written = self._written or told
        elif own and line.origin not in self._evaluations:
            # One that was at the start, and after which this process wrote the object, made it what it is.
            wrote = self._written is not None and self._written.by == told.by
            if not at_start or wrote:
                self._evaluations[line.origin] = told
            else:
                self._started.setdefault(line.origin, told._replace(told_by=BEFORE))
        if about and len(self._history) < _HISTORY:
            self._history.append(told)

    def remembered(self, *, complete: bool) -> Remembered:
        history = _oldest_first(self._history)
        return Remembered({**self._started, **self._evaluations}, self._written, history, complete)

    def _is_about(self, line: Line) -> bool:
        if self._name is not None:
            return touches(line, self._name)
        return isinstance(line, Entry) and (line.origin in self._intents or line.source in self._intents)
