"""Finds the lines of the author's code in a stack of frames, and whether Ctrl-C interrupted an evaluation.

Kept apart because two kinds of stack are read: that of an exception, and that of an evaluation that is cut off. Frames
of our own and of the standard library are left out: an author can't fix them.
"""

from __future__ import annotations

import asyncio.runners
import opcode
import os
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType, TracebackType

CONTEXT_MODULE = f"{__package__}.context"
"""The module through which an evaluation reads the world: code that it calls is not the author's."""

_HERE = str(Path(__file__).parent) + os.sep
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_COMPILERS = f"{_PACKAGE}compilers{os.sep}"
_LIBRARY = str(Path(os.__file__).parent) + os.sep
_CAUSES, _FIRST, _LAST = 3, 3, 9
"""Exceptions of a chain, and frames of each, that are shown: a recursion has a thousand."""
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


def author_trace(error: BaseException) -> tuple[str, ...]:
    """The frames of the author's code in the traceback of ``error``, the innermost last; of its causes, too, each below
    what it caused."""
    lines: list[str] = []
    seen: BaseException | None = error
    for depth in range(_CAUSES):
        if seen is None:
            break
        if depth:
            lines.append(f"caused by {type(seen).__name__}:")
        frames = [
            f'File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
            for frame, line in traceback.walk_tb(seen.__traceback__)
            if not _is_ours(frame.f_code.co_filename)
        ]
        if len(frames) > _FIRST + _LAST:
            frames = [*frames[:_FIRST], f"… {len(frames) - _FIRST - _LAST} more frames …", *frames[-_LAST:]]
        lines += frames
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return tuple(lines)


def _is_ours(file: str) -> bool:
    return _is_foreign(file) or (file.startswith(_PACKAGE) and not file.startswith(_COMPILERS))


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
