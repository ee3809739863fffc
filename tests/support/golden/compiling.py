"""A golden case through the whole of ``intentc compile``: loading, admission, engine, planning, printing."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from intentc.cli.entry import run
from tests.support.forking import Ended


def compiled(compiler: str, given: Path, *, output: str = "yaml", options: tuple[str, ...] = ()) -> Ended:
    """``intentc compile --compiler <compiler> <given> -o <output> <options>``."""
    # Real files: the command's watchdog writes to the descriptor of stderr.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(["compile", "--compiler", compiler, str(given), "-o", output, *options])
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read(), err.read())
