"""Whether a file is still the one that was read: how rotated certificates and passwords are noticed.

Why it stands so low: configuration, watch and writing each keep something that they read from files, must not know
each other, and must not come to different answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[int, int, int]


def stamps(paths: Iterable[Path | str]) -> tuple[Stamp, ...]:
    """One value a file that differs once it was written or replaced, also through a link; zeros if it isn't there."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path | str) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
