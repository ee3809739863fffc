"""Searches a ring of files for lines, newest first, with bounded work: a question must not read gigabytes.

A line is found by the JSON of the name or key that it must contain, so that only matches are decoded. Lines that a
restored store made void are left out. Callers run it in a thread; files that are removed meanwhile are skipped, and
what is cut off a file under reading counts as absent. Why files are read and not mapped: access to a map behind a
file's new end kills the process.

State: one search, and the warnings that were logged.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .files import newest_first, opened
from .records import PROCESS, VOID, Process, Record, Voided, decoded

_LOG = logging.getLogger(__name__)
MOST_BYTES = 64_000_000
MOST_SECONDS = 1.0
_WINDOW = 262_144
"""Bytes searched at once: the interpreter is held for that long."""
_LONGEST_LINE = 16_000_000
"""Bytes; longer lines are skipped."""


class Found(NamedTuple):
    """A line, and the process that wrote it: ``installation/process``, empty if its file has none."""

    record: Record
    writer: str


class _Lines(NamedTuple):
    """Consecutive lines of a file; the last one is incomplete if it has no end. ``place``: of the first one."""

    place: int
    text: bytes


def search(directory: Path, marks: Collection[bytes]) -> Iterator[Found]:
    """The lines that contain one of ``marks``: the newest file first, and in a file the last line first; without void
    lines of a restored store. It ends after ``MOST_SECONDS``, or before a file with which it would read more than
    ``MOST_BYTES``; the newest file is read whatever its size. A file that can't be read is skipped, and logged once."""
    voids: list[Voided] = []
    left, until = MOST_BYTES, time.monotonic() + MOST_SECONDS
    try:
        paths = newest_first(directory)
    except OSError as error:
        _warn(directory, error.strerror or str(error))
        return
    for path in paths:
        try:
            file = opened(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except OSError as error:
            _warn(path, error.strerror or str(error))
            continue
        try:
            size = os.fstat(file).st_size
            if left < min(size, MOST_BYTES):
                return
            left -= size
            yield from _standing(_in_file(file, size, (VOID, *marks), until), voids)
        except OSError as error:
            _warn(path, error.strerror or str(error))
        finally:
            os.close(file)
        if time.monotonic() > until:
            return


def _standing(found: Iterator[Found | Voided], voids: list[Voided]) -> Iterator[Found]:
    """The lines of a file that are not void: by ``voids`` of newer files according to their times, by its own according
    to their order. Its own are added to ``voids``."""
    newer = tuple(voids)
    revision: float = float("inf")
    for one in found:
        if isinstance(one, Voided):
            voids.append(one)
            revision = min(revision, one.revision)
        elif one.record.revision <= revision and not any(
            void.at > one.record.at and void.revision < one.record.revision for void in newer
        ):
            yield one


def _in_file(file: int, size: int, marks: Collection[bytes], until: float) -> Iterator[Found | Voided]:
    processes: Iterator[tuple[int, str]] | None = None
    begun, writer = size, ""
    for place, text in _backwards(file, size, until):
        for begin, line in _matching(text, marks):
            found = decoded(line)
            if found is None or isinstance(found, Process):
                continue
            if isinstance(found, Voided):
                yield found
                continue
            if processes is None:
                processes = _processes(file, place + len(text), until)
            while begun > place + begin:
                begun, writer = next(processes, (-1, ""))
            yield Found(found, writer)


def _backwards(file: int, end: int, until: float) -> Iterator[_Lines]:
    """The whole lines before ``end``, last first, a window of them at a time."""
    rest: list[bytes] = []
    """The pieces of a line whose beginning is not read yet, last first."""
    while end > 0 and time.monotonic() <= until:
        begin = max(0, end - _WINDOW)
        text = os.pread(file, end - begin, begin)
        if len(text) < end - begin or sum(map(len, rest)) > _LONGEST_LINE:
            rest.clear()  # the file was cut off, or the line is too long: the rest of the line is incomplete
        line_end = text.find(b"\n") + 1
        if begin == 0 or line_end:
            first = line_end if begin else 0
            yield _Lines(begin + first, b"".join((text[first:], *reversed(rest))))
            rest = [text[:first]]
        else:
            rest.append(text)
        end = begin
        time.sleep(0)  # gives the event loop's thread a turn


def _matching(text: bytes, marks: Collection[bytes]) -> Iterator[tuple[int, bytes]]:
    """The whole lines that contain one of ``marks``, with their places in ``text``, last first."""
    places = {mark: place for mark in marks if (place := text.rfind(mark)) >= 0}
    while places:
        place = max(places.values())
        begin = text.rfind(b"\n", 0, place) + 1
        stop = text.find(b"\n", place)
        if stop >= 0:
            yield begin, text[begin:stop]
        places = {
            mark: before
            for mark, at in places.items()
            if (before := at if at < begin else text.rfind(mark, 0, begin)) >= 0
        }


def _processes(file: int, end: int, until: float) -> Iterator[tuple[int, str]]:
    """Where, before ``end``, the lines of which process begin, last first."""
    for place, text in _backwards(file, end, until):
        for begin, line in _matching(text, (PROCESS,)):
            found = decoded(line)
            if isinstance(found, Process):
                yield place + begin, found.writer


@lru_cache(maxsize=100)
def _warn(path: Path, reason: str) -> None:
    """Log it once per path and reason."""
    _LOG.warning("the journal's files are searched without %s: %s", path, reason)
