"""What a command leaves behind, and the type of the fixture that runs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ended(NamedTuple):
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


Intentc = Callable[..., Ended]
"""``intentc(*arguments)`` runs one command line in this process."""
