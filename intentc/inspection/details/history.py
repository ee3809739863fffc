"""Reads the history of an object from the journal: the last evaluation of each intent, the last write, the last lines.

Lines come from the ring in memory. If that lacks something, the journal's files are searched as well, if it has any.
``journal`` renders the lines as JSON.

It reads the journal and changes nothing. State: one search, and whether a failure was logged. The journal's files are
read in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from intentc.journal import Entry, Journal, Line, Write, touches
from intentc.journal.records import Evaluation, mark_of_object, mark_of_resource
from intentc.journal.searching import MOST_SECONDS
from intentc.journal.searching import search as search_files
from intentc.logic import LiveWorld
from intentc.model import Key, Name

from ..lookup.disk_thread import run_on_disk_thread

_LOG = logging.getLogger(__name__)
BEFORE = "before this start"
JOURNAL = "journal"
FILES = "files"

_IN_A_ROW = 500
"""Lines read before the loop gets its turn."""
_HISTORY = 20
_MARKS = 20
"""Intents of one object that are searched for in files."""
_WAIT = MOST_SECONDS + 1.0
"""Seconds for the files: a search ends by itself after ``MOST_SECONDS``, a read that hangs doesn't."""


class RecordedLine(NamedTuple):
    """A line and where it is recorded (``JOURNAL`` or ``FILES``). ``by``: installation/process that wrote it.
    ``names``: names of resources as of then, if a file has them."""

    line: Line
    recorded_in: str
    by: str
    sequence: int = 0
    names: dict[Key, str] = {}  # noqa: RUF012 - never changed


class History(NamedTuple):
    """What the journal has about an object. ``evaluations``: intent → its last evaluation; an intent without a line is
    missing. ``recorded_in`` is ``BEFORE`` for an intent that this process evaluated only because it started: the path
    of the change that led to its present output is unknown. ``written``: the last write of the object. ``lines``: the
    last lines about it, the oldest first. ``complete``: the ring has dropped no line of this process, so whatever is
    missing happened before this start."""

    evaluations: dict[Key, RecordedLine]
    written: RecordedLine | None
    lines: tuple[RecordedLine, ...]
    complete: bool


async def history_of(world: LiveWorld, journal: Journal, name: Name | None, intents: Collection[Key]) -> History:
    """Return the history of the object ``name`` and of ``intents``; with ``name`` None the lines are about the
    intents."""
    search = _Search(name, intents)
    last, lines = journal.last, tuple(journal)
    for number, line in enumerate(reversed(lines)):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            await asyncio.sleep(0)
        at_start = isinstance(line, Entry) and world.at_start(line.source_revision)
        search.add(RecordedLine(line, JOURNAL, journal.writer, last - number), at_start=at_start)
        if search.is_complete:
            break
    if journal.directory is not None and not search.is_complete:
        search = await _with_files(search, journal.directory, world.revision)
    return search.result(complete=journal.first == 1)


async def _with_files(search: _Search, directory: Path, revision: int) -> _Search:
    """Return the search continued in the files; unchanged if they can't be read in time."""
    # A copy: a thread that ends late must not change a result that is in use.
    call = partial(_searched_files, search.copy(), directory, revision)
    try:
        search = await run_on_disk_thread(call, name="journal search", within=_WAIT)
    except TimeoutError:
        _warn_once(directory)
    else:
        _warn_once.cache_clear()
    return search


@lru_cache(maxsize=1)
def _warn_once(directory: Path) -> None:
    """Log a warning, and no second one until the files could be read again."""
    _LOG.warning("the journal's files in %s can't be read in time; answers to why omit them", directory)


def _searched_files(search: _Search, directory: Path, revision: int) -> _Search:
    """Add the lines of the files, the newest first. ``revision``: later lines are ignored, since the store was restored
    to before them."""
    for found in search_files(directory, search.marks()):
        record = found.record
        if record.revision > revision:
            continue
        at_start = isinstance(record, Evaluation) and record.at_start
        search.add(RecordedLine(record.line(), FILES, found.writer, 0, record.names()), at_start=at_start)
        if search.is_complete:
            break
    return search


def _oldest_first(newest_first: Collection[RecordedLine]) -> tuple[RecordedLine, ...]:
    """Sort lines by when they happened, without clocks, since these may be wrong. Lines of one process stay in the
    order of writing; those of several are sorted by applied revision; the lines in memory follow those of the files."""
    least: dict[str, int] = {}
    placed: list[tuple[tuple[bool, int], RecordedLine]] = []
    for recorded in newest_first:
        revision = recorded.line.revision
        least[recorded.by] = revision = min(revision, least.get(recorded.by, revision))
        placed.append(((recorded.sequence > 0, revision), recorded))
    placed.reverse()
    placed.sort(key=lambda one: one[0])
    return tuple(recorded for _, recorded in placed)


class _Search:
    """Collects the history; lines are added from the newest to the oldest."""

    def __init__(self, name: Name | None, intents: Collection[Key]) -> None:
        self._name = name
        self._intents = frozenset(intents)
        self._evaluations: dict[Key, RecordedLine] = {}
        self._started: dict[Key, RecordedLine] = {}
        """Evaluations that only a start caused, used unless an older line shows what caused the present output."""
        self._written: RecordedLine | None = None
        self._history: list[RecordedLine] = []
        self._lines: set[Line] = set()
        """The lines added so far: the files repeat those in memory."""

    def copy(self) -> _Search:
        """Return an independent copy."""
        other = _Search(self._name, self._intents)
        other._evaluations, other._started = dict(self._evaluations), dict(self._started)
        other._written, other._history, other._lines = self._written, list(self._history), set(self._lines)
        return other

    @property
    def is_complete(self) -> bool:
        """Whether older lines can't add anything."""
        written = self._name is None or self._written is not None
        return written and len(self._history) == _HISTORY and len(self._evaluations) == len(self._intents)

    def marks(self) -> list[bytes]:
        """Return the byte sequences of which a useful line contains one."""
        about = [mark_of_object(self._name)] if self._name is not None else []
        return [*about, *map(mark_of_resource, sorted(self._intents)[:_MARKS])]

    def add(self, recorded: RecordedLine, *, at_start: bool) -> None:
        line = recorded.line
        about = self._is_about(line)
        own = isinstance(line, Entry) and line.origin in self._intents
        if not (about or own) or line in self._lines:
            return
        self._lines.add(line)
        if isinstance(line, Write):
            self._written = self._written or recorded
        elif own and line.origin not in self._evaluations:
            # If this process wrote the object after an evaluation at its start, that evaluation caused its content.
            wrote = self._written is not None and self._written.by == recorded.by
            if not at_start or wrote:
                self._evaluations[line.origin] = recorded
            else:
                self._started.setdefault(line.origin, recorded._replace(recorded_in=BEFORE))
        if about and len(self._history) < _HISTORY:
            self._history.append(recorded)

    def result(self, *, complete: bool) -> History:
        lines = _oldest_first(self._history)
        return History({**self._started, **self._evaluations}, self._written, lines, complete)

    def _is_about(self, line: Line) -> bool:
        if self._name is not None:
            return touches(line, self._name)
        return isinstance(line, Entry) and (line.origin in self._intents or line.source in self._intents)
