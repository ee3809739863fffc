"""Reads from the journal: the history of an object, the names of deleted resources, and the resources themselves.

Lines come from the ring in memory. If that lacks something, the journal's files are searched in a thread, if there are
any: a disk may hang, and nothing waits longer than a second or two for it. ``journal_lines`` renders lines as JSON.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import aclosing, suppress
from copy import deepcopy
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio
import msgspec

from intentc.engine.live import Live
from intentc.evaluation import Status
from intentc.inspection.traversal import sliced
from intentc.journal import Entry, Journal, Line, Write, touches
from intentc.journal.records import Evaluation, Written, mark_of_object, mark_of_resource
from intentc.journal.ring import MOST_SECONDS
from intentc.journal.ring import search as search_files
from intentc.logic import LiveWorld
from intentc.model import Key, Name
from intentc.model.matching import fits

_LOG = logging.getLogger(__name__)
Result = TypeVar("Result")

_WAIT = MOST_SECONDS + 1.0
"""Seconds for the files: a search ends by itself after ``MOST_SECONDS``, a read that hangs doesn't."""
_MOST = 8
"""Threads at once, including those that hang."""
_FREE = threading.BoundedSemaphore(_MOST)


async def run_on_disk_thread(call: Callable[[], Result], *, name: str, within: float) -> Result:
    """Run ``call`` in a thread called ``name`` and return its result. Raises what ``call`` raises; ``TimeoutError``
    after ``within`` seconds, and at once if no thread can be started or too many hang already. An abandoned ``call``
    goes on: it must not change anything that others see."""
    if not _FREE.acquire(blocking=False):
        raise TimeoutError(f"{_MOST} others have not ended")
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: Exception | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except Exception as error:
            failure = error  # raised in the caller's task
        finally:
            _FREE.release()
        with suppress(RuntimeError):  # the loop is closed: no caller is left
            loop.call_soon_threadsafe(settle, result, failure)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError as error:
        _FREE.release()
        raise TimeoutError(str(error)) from None
    with anyio.fail_after(within):
        return await done


async def _from_files(directory: Path, call: Callable[[], Result]) -> Result | None:
    """Return the result of a search; None if the files can't be read in time."""
    try:
        found = await run_on_disk_thread(call, name="journal search", within=_WAIT)
    except TimeoutError:
        _warn_once(directory)
        return None
    _warn_once.cache_clear()
    return found


@lru_cache(maxsize=1)
def _warn_once(directory: Path) -> None:
    """Log a warning, and no second one until the files could be read again."""
    _LOG.warning("the journal's files in %s can't be read in time; answering without them", directory)


async def former_names(journal: Journal, kind: str, joined: Collection[str]) -> dict[str, Name]:
    """Return joined name → name, from the last journal line about an object of ``kind`` with that name. Without a line
    each colon separates two elements."""
    found: dict[str, Name] = {}
    async with aclosing(sliced(tuple(journal)[::-1])) as lines:
        async for line in lines:
            for name in _objects(line):
                if name.kind == kind and (called := ":".join(name.fq_name)) in joined:
                    found.setdefault(called, name)
            if len(found) == len(joined):
                break
    return {called: found.get(called) or Name(kind, tuple(called.split(":"))) for called in joined}


def _objects(line: Line) -> Iterable[Name]:
    return (line.name,) if isinstance(line, Write) else line.objects


_DELETE = "delete"


class Former(NamedTuple):
    """``key``: the last resource of that name; its uuid is empty if unknown."""

    name: Name
    key: Key


async def former_resources(live: Live, kind: str, text: str) -> list[Former]:
    """Return the deleted resources of ``kind`` whose name was ``text`` or ended with it; each name once. Files are
    searched only if memory has none."""
    journal = live.journal
    found: dict[Name, Former] = {}
    keys = {joined: key for key, joined in journal.names.items() if key.kind == kind and fits(joined, text)}
    if keys:
        names = await former_names(live.journal, kind, keys)
        found = {name: Former(name, keys[joined]) for joined, name in names.items()}
    if not found and journal.directory is not None:
        call = partial(_former_in_files, journal.directory, kind, text, live.world.revision)
        found = await _from_files(journal.directory, call) or {}
    return [former for former in found.values() if former.name not in live.planner.book]


def _former_in_files(directory: Path, kind: str, text: str, revision: int) -> dict[Name, Former]:
    """Return the same from files. ``revision``: later lines are ignored, since the store was restored to it."""
    ends = msgspec.json.encode(text)[1:]
    last = msgspec.json.encode(text.rpartition(":")[2])[1:]
    found: dict[Name, Former] = {}
    # Names of intents stand as one text at the end of a list, those of objects as lists of texts.
    for one in search_files(directory, [ends + b"]", last + b"]]"]):
        record = one.record
        if record.revision > revision:
            continue
        if isinstance(record, Evaluation) and record.status == Status.DELETED.value:
            key, joined = record.intent.key, record.intent.name
            name = Name(kind, tuple(joined.split(":")))
        elif isinstance(record, Written) and record.operation == _DELETE:
            name, key = record.object, Key(record.object.kind, record.uuid)
            joined = ":".join(name.fq_name)
        else:
            continue
        if key.kind == kind and fits(joined, text):
            found.setdefault(name, Former(name, key))
    return found


BEFORE = "before this start"
JOURNAL = "journal"
FILES = "files"

_HISTORY = 20
_MARKS = 20
"""Intents of one object that are searched for in files."""


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
    last = journal.last
    async with aclosing(sliced(enumerate(tuple(journal)[::-1]))) as lines:
        async for number, line in lines:
            at_start = isinstance(line, Entry) and world.at_start(line.source_revision)
            search.add(RecordedLine(line, JOURNAL, journal.writer, last - number), at_start=at_start)
            if search.is_complete:
                break
    if journal.directory is not None and not search.is_complete:
        # A copy: a thread that ends late must not change a result that is in use.
        call = partial(_searched_files, deepcopy(search), journal.directory, world.revision)
        search = await _from_files(journal.directory, call) or search
    return search.result(complete=journal.first == 1)


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
