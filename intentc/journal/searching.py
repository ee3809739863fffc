"""Looking for lines in a ring of files, the newest first, with bounded work: a question must not read gigabytes.

A line is found by the JSON of the name or key that it must hold, so that only what matches is ever decoded. It runs
beside the loop, in a thread; files that are taken away meanwhile are passed over.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from .files import newest_first
from .records import PROCESS, VOID, Process, Record, Voided, decoded

MOST_BYTES = 64_000_000
MOST_SECONDS = 1.0
_WINDOW = 262_144
"""Bytes looked through at once: the interpreter is held for so long."""


class Found(NamedTuple):
    """A line, and the process that wrote it: ``installation/process``, empty if its file doesn't tell."""

    record: Record
    writer: str


def search(directory: Path, marks: Collection[bytes]) -> Iterator[Found]:
    """The lines that hold one of ``marks``, those of the newest file first, and in a file the last one; without those
    that are void, since the store was put back. It ends after ``MOST_BYTES`` or ``MOST_SECONDS``."""
    voids: list[Voided] = []
    left, until = MOST_BYTES, time.monotonic() + MOST_SECONDS
    try:
        paths = newest_first(directory)
    except OSError:
        return
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            size = os.fstat(file).st_size
            left -= size
            if left < 0:
                return
            if not size:
                continue
            with mmap.mmap(file, size, access=mmap.ACCESS_READ) as text:
                for found in _in_file(text, (VOID, *marks), until):
                    if isinstance(found, Voided):
                        voids.append(found)
                    elif not any(void.at > found.record.at and void.revision < found.record.revision for void in voids):
                        yield found
        finally:
            os.close(file)
        if time.monotonic() > until:
            return


def _in_file(text: mmap.mmap, marks: Collection[bytes], until: float) -> Iterator[Found | Voided]:
    end = len(text)
    places = {mark: _last(text, mark, end) for mark in marks if time.monotonic() <= until}
    processes: dict[int, str] | None = None
    while (place := max(places.values(), default=-1)) >= 0 and time.monotonic() <= until:
        begin = text.rfind(b"\n", 0, place) + 1
        stop = text.find(b"\n", place)
        for mark, at in places.items():
            if at >= begin:
                places[mark] = _last(text, mark, begin)
        found = decoded(text[begin:stop]) if stop >= 0 else None
        if found is None or isinstance(found, Process):
            continue
        if isinstance(found, Voided):
            yield found
            continue
        if processes is None:
            processes = dict(_processes(text))
        yield Found(found, next((writer for at, writer in processes.items() if at < begin), ""))


def _last(text: mmap.mmap, mark: bytes, end: int) -> int:
    """Where ``mark`` stands for the last time before ``end``; -1 if nowhere."""
    window = max(_WINDOW, 2 * len(mark))
    while end > 0:
        begin = max(0, end - window)
        place = text.rfind(mark, begin, end)
        if place >= 0 or begin == 0:
            return place
        end = begin + len(mark) - 1
        time.sleep(0)  # the loop in the other thread has its turn
    return -1


def _processes(text: mmap.mmap) -> Iterator[tuple[int, str]]:
    """Where whose lines begin, the last first."""
    end = len(text)
    while (place := _last(text, PROCESS, end)) >= 0:
        stop = text.find(b"\n", place)
        found = decoded(text[place:stop]) if stop >= 0 else None
        if isinstance(found, Process) and (place == 0 or text[place - 1 : place] == b"\n"):
            yield place, found.writer
        end = place
