"""Detects replaced files, and reads files without blocking: so rotated certificates and passwords are noticed.

Why in the bottom layer: several packages each keep something that they read from files, must not know each other, and
must not reach different results.

Callers keep the stamps.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[int, int, int]


def stamps(paths: Iterable[Path | str]) -> tuple[Stamp, ...]:
    """One value per file that changes when it is written or replaced, also through a link; zeros if it is absent."""
    return tuple(_stamp(path) for path in paths)


def read_regular(path: Path | str, most: int = -1) -> bytes:
    """The content of a file, at most ``most`` bytes. Raises ``OSError``, also if it is no regular file: a pipe without
    a writer would block, and one that was read once is empty the next time."""
    # Without O_NONBLOCK, opening a pipe would already block; for a regular file the flag has no effect.
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(opened).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is {_sort(mode)}, and no regular file", str(path))
        with os.fdopen(opened, "rb", closefd=False) as file:
            content = file.read(most)
            # Files of /proc look regular. Some behave like pipes: they have nothing to read now, or give something else
            # the next time, and have no size either way.
            if content is None or (content and not os.fstat(opened).st_size):
                raise OSError(errno.EINVAL, "it belongs to the kernel, and is no regular file", str(path))
            return content
    finally:
        os.close(opened)


def _sort(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device"


def _stamp(path: Path | str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
