"""Marks the key under evaluation, so that the next process finds it if this one dies during the evaluation.

Each process maps its own file into memory: marking a key copies a few bytes, and what was copied survives a kill. A
lock on the file shows whether its process lives. ``directives/suspects`` decides whether and for how long a suspect is
held. No other module touches the files.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from intentc.model import Key

_LOG = logging.getLogger(__name__)
_SIZE = 1024
_SUFFIX = ".slot"
_BUSY = 1
_IDLE = 0


def state_directory(environment: Mapping[str, str] | None = None) -> Path:
    """Where a process keeps state for the next one: ``$STATE_DIRECTORY`` (set by systemd), or ``intentc`` below
    ``$XDG_STATE_HOME`` or ``~/.local/state``. ``environment``: None for the process's."""
    environment = os.environ if environment is None else environment
    if given := environment.get("STATE_DIRECTORY"):
        return Path(given.partition(":")[0])
    base = environment.get("XDG_STATE_HOME")
    return (Path(base) if base else Path("~/.local/state")) / "intentc"


class CrashMarker:
    """The crash marker of one process; made by ``open``. ``suspects``: the keys under evaluation when processes of the
    same installation died, sorted."""

    def __init__(self, memory: mmap.mmap | bytearray, suspects: tuple[Key, ...] = (), path: Path | None = None) -> None:
        self._memory = memory
        self._path = path
        self._file: int | None = None
        self.suspects = suspects

    @classmethod
    def open(cls, directory: Path, installation: str) -> CrashMarker:
        """A marker for this process in ``directory``, which is created if needed; markers that dead processes of
        ``installation`` left there are read and removed. If no file can be created, a warning says so, and the marker
        is kept in memory only."""
        try:
            return cls._open(directory.expanduser(), f"{quote(installation, safe='')}@")
        except (OSError, RuntimeError, ImportError) as error:
            _LOG.warning("the next process won't know what this one evaluates when it dies: %s", error)
            return cls(bytearray(_SIZE))

    @classmethod
    def _open(cls, directory: Path, prefix: str) -> CrashMarker:
        import fcntl  # not on every system

        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            gate = os.open(directory / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            stack.callback(os.close, gate)
            fcntl.flock(gate, fcntl.LOCK_EX)  # held while the directory is searched
            suspects = {key for path in sorted(directory.glob(f"{prefix}*{_SUFFIX}")) if (key := _left_behind(path))}
            file, name = tempfile.mkstemp(_SUFFIX, prefix, directory)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(file, bytes(_SIZE))  # reserve the disk space now: a lack of it later would be a fatal signal
            crash_marker = cls(mmap.mmap(file, _SIZE), tuple(sorted(suspects)), Path(name))
            crash_marker._file = file
            return crash_marker

    def begin(self, key: Key) -> None:
        """Mark ``key`` as under evaluation."""
        note = f"{key.kind}/{key.uuid}".encode(errors="replace")
        length = len(note)
        if length < _SIZE - 3:
            self._memory[1 : length + 3] = length.to_bytes(2, "big") + note
            self._memory[0] = _BUSY

    def end(self) -> None:
        """Mark that nothing is under evaluation."""
        self._memory[0] = _IDLE

    def close(self) -> None:
        """Remove the marker at a regular end of the process; may be called twice."""
        if self._file is None or self._path is None:
            return
        self._path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = None
        if isinstance(self._memory, mmap.mmap):
            self._memory.close()


def _left_behind(path: Path) -> Key | None:
    """Read and remove the marker of a dead process; None if it was idle, or its process lives."""
    import fcntl

    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    else:
        path.unlink()
        return _read(os.read(file, _SIZE))
    finally:
        os.close(file)


def _read(content: bytes) -> Key | None:
    if len(content) < 3 or content[0] != _BUSY:
        return None
    note = content[3 : 3 + int.from_bytes(content[1:3], "big")].decode(errors="replace")
    kind, separator, uuid = note.partition("/")
    return Key(kind, uuid) if separator and kind and uuid else None
