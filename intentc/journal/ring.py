"""A ring of files for the journal, so that the next process knows by which path objects came to be as they are.

Any number of processes may share a directory: each appends to its own file, which it holds locked, and removes the
oldest files that no process holds. A new process continues the newest free file unless it is full, so that repeated
restarts don't evict what was kept.

``search`` finds lines, newest first, with bounded work: a question must not read gigabytes. A line is found by the JSON
of the name or key that it must contain, so that only matches are decoded. Lines that a restored store made void are
left out. Callers run it in a thread; files that are removed meanwhile are skipped, and what is cut off a file under
reading counts as absent. Why files are read and not mapped: access to a map behind a file's new end kills the process.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from intentc.journal.records import FORMAT, PROCESS, VOID, Process, Record, Voided, decoded, encoded

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The disk, or what this user may use of it, is full: that passes, and must not stop a start."""
_PREFIX, _SUFFIX = "journal-", ".jsonl"


class UnusableDirectory(OSError):
    """The directory can't be created or written; the message names it and the setting to change."""


class JournalFiles:
    """The ring in ``directory``, open for this process: at most ``files`` files of about ``file_bytes`` each.

    Raises ``UnusableDirectory``, unless only the disk is full: then ``lack`` says so, and each ``append`` tries again
    to open a file. Calls may come from any thread, one at a time.
    """

    def __init__(self, directory: Path, *, files: int, file_bytes: int, process: Process) -> None:
        self.directory = directory.expanduser()
        self._files = files
        self._file_bytes = file_bytes
        self._process = process
        self._has_lines = True
        self._file, self._size = -1, 0
        self.lack: OSError | None = None
        """Why no file could be opened at the start; None if one could."""
        try:
            self._open()
        except OSError as error:
            if error.errno in _FULL:
                self.lack = error
                return
            raise UnusableDirectory(
                error.errno,
                f"the journal can't be kept in {self.directory}: {error.strerror or error}; "
                "set intentc.journal.directory to one that this user may write, or leave it out",
            ) from None

    def append(self, lines: bytes) -> None:
        """Write whole lines; a new file begins when this one is full. Raises ``OSError``; some lines may then be in a
        file that is full."""
        if self._file < 0:
            self._open()
        while lines:
            end = len(lines)
            if self._size + end > self._file_bytes:
                # As many as fit; a line that is larger than any file gets a file of its own.
                end = lines.rfind(b"\n", 0, max(0, self._file_bytes - self._size)) + 1
                if not end and self._has_lines:
                    self._change()
                    continue
                end = end or lines.find(b"\n") + 1 or len(lines)
            self._size += _written(self._file, lines[:end])
            self._has_lines = True
            lines = lines[end:]

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file, self._size = self._begin()

    def _change(self) -> None:
        former = self._file
        self._file, self._size = self._create()
        self._has_lines = False
        os.close(former)

    def _begin(self) -> tuple[int, int]:
        """The newest file that no process holds, if it has room; else a new one."""
        for path in newest_first(self.directory):
            try:
                file = opened(path, os.O_RDWR | os.O_APPEND)
            except OSError:
                continue
            size = os.fstat(file).st_size
            if size < self._file_bytes and _locked(file) and _stands(path, file):
                # End a line that a killed process left incomplete, so that it spoils none of ours.
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                return file, size + _first(file, (b"\n" if torn else b"") + encoded(self._process))
            os.close(file)
            if size < self._file_bytes:
                continue
            break
        return self._create()

    def _create(self) -> tuple[int, int]:
        number = max((_number(path) for path in newest_first(self.directory)), default=0)
        while True:
            number += 1
            path = self.directory / f"{_PREFIX}{number:08}{_SUFFIX}"
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                file = os.open(path, flags, 0o600)
            except FileExistsError:
                continue
            if _locked(file):
                break
            os.close(file)
        self._take_away()
        try:
            return file, _first(file, encoded(self._process))
        except OSError:
            # Each try would leave an empty file, and the ring would evict others for them.
            path.unlink(missing_ok=True)
            raise

    def _take_away(self) -> None:
        """Remove the oldest files that no process holds, until the limit is kept."""
        paths = [path for path in newest_first(self.directory) if _is_regular(path)]
        for path in paths[self._files :][::-1]:
            try:
                file = opened(path, os.O_RDONLY)
            except OSError:
                continue
            try:
                if _locked(file):
                    path.unlink(missing_ok=True)
            finally:
                os.close(file)


def newest_first(directory: Path) -> Iterator[Path]:
    """The files of a ring, by name; other files with such a name are included. Raises ``OSError``."""
    return iter(sorted(filter(_number, directory.iterdir()), key=_number, reverse=True))


def opened(path: Path, flags: int) -> int:
    """Open a file of a ring; never blocks, follows no link. Raises ``OSError``, also if it is no regular file."""
    file = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def this_process(installation: str, process: str, started: float) -> Process:
    """The line that precedes this process's lines."""
    return Process(FORMAT, installation, process, started)


def _number(path: Path) -> int:
    """Its position in the ring, from 1 on; 0 if it is no file of a ring."""
    digits = path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    return int(digits) if digits.isdecimal() and path.name == f"{_PREFIX}{digits}{_SUFFIX}" else 0


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _stands(path: Path, file: int) -> bool:
    """Whether it was not removed before it was locked."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _first(file: int, lines: bytes) -> int:
    """Write the first lines of this process; closes the file if that fails."""
    try:
        return _written(file, lines)
    except OSError:
        os.close(file)
        raise


def _written(file: int, lines: bytes) -> int:
    """Write all of ``lines`` or nothing."""
    before = os.fstat(file).st_size
    rest = memoryview(lines)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        os.ftruncate(file, before)
        raise
    return len(lines)


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
