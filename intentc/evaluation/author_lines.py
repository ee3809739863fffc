"""Finds the line of the author's code in which something happened, from a stack of frames; and whether Ctrl-C
interrupted an evaluation.

Kept apart because two kinds of stack are read: that of an exception, and that of an evaluation that is cut off.

It reads frames and tracebacks.

Touches: nothing outside memory.
"""

from __future__ import annotations

import asyncio.runners
import opcode
import os
from collections.abc import Iterable
from pathlib import Path
from types import FrameType, TracebackType

CONTEXT_MODULE = f"{__package__}.context"
"""The module through which an evaluation reads the world: code that it calls is not the author's."""

_HERE = str(Path(__file__).parent) + os.sep
_LIBRARY = str(Path(os.__file__).parent) + os.sep
_RAISING = (opcode.opmap["RAISE_VARARGS"], opcode.opmap["RERAISE"])


def author_line(stack: Iterable[tuple[FrameType, int]]) -> str:
    """``file.py:12`` of the innermost frame in neither our code nor the standard library; empty if there is none.
    ``stack``: (frame, line), innermost first."""
    found = ""
    for frame, line in stack:
        file = frame.f_code.co_filename
        if frame.f_globals.get("__name__") == CONTEXT_MODULE:
            found = ""
        elif not found and not _is_foreign(file):
            found = f"{file.rpartition(os.sep)[2]}:{line}"
    return found


def _is_foreign(file: str) -> bool:
    if file.startswith(_LIBRARY):
        return "site-packages" not in file and "dist-packages" not in file
    return file.startswith((_HERE, "<"))


def came_from_keyboard(error: KeyboardInterrupt) -> bool:
    """Whether a signal handler raised it during an evaluation, rather than a statement of the author's."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and (last.tb_frame.f_globals is vars(asyncio.runners) or not _raises(last))


def _raises(entry: TracebackType) -> bool:
    return entry.tb_frame.f_code.co_code[entry.tb_lasti] in _RAISING
