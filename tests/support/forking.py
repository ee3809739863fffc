"""Starts ``intentc`` as real processes that cost no imports: multiprocessing's fork server has loaded the program.

Each start of Python with ``intentc`` takes most of a second of CPU, nearly all of it for imports, and the tests start
some hundreds. A forked process has its own pid, standard streams, working directory, environment and signals. What
tests the start itself (imports, ``python -m``, variables that the interpreter reads) runs ``sys.executable``.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import lru_cache
from multiprocessing import reduction
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import anyio
import msgspec

from intentc.loading.yaml import load_yaml
from tests.support.crash_points import BRIDGE_POINTS, POINTS, PUBLISHER_POINTS, installed

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "intentc.cli"]
_LOOK = 0.01
"""Seconds between two looks whether a process has ended."""


class Ended(NamedTuple):
    """What a command left: exit code (negative for a signal), stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return msgspec.json.decode(self.out)

    @property
    def document(self) -> dict[str, Any]:
        """What it printed, as YAML."""
        found: dict[str, Any] = load_yaml(self.out).value
        return found


class Running(Protocol):
    """A process that was started: what tests call of ``subprocess.Popen``."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def kill(self) -> None: ...

    def send_signal(self, sig: int) -> None: ...


class _Forked:
    """A forked process; see ``Running``."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        assert process.pid is not None
        self.pid = process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int:
        self._process.join()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, sig: int) -> None:
        """Does nothing if it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)


class _Stream:
    """A descriptor that is sent along with the process that is to have it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._descriptor = stream.fileno()

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._descriptor),)


def _received(sent: Any) -> int:
    descriptor: int = sent.detach()
    return descriptor


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: IO[bytes],
    err: IO[bytes],
    *,
    folder: Path = ROOT,
    crash: str = "",
) -> Running:
    """``intentc`` with ``arguments`` in ``folder``, with this environment and nothing to read.

    One whose environment has something for Python itself (``PYTHON…``), which is too late for a forked process, is
    started anew. ``crash``: the crash point at which a forked process dies (``create.sent:3``: at the third visit).
    """
    if any(name.startswith("PYTHON") and os.environ.get(name) != environment[name] for name in environment):
        assert not crash, "nothing installs a crash point in a process that is not forked"
        return subprocess.Popen(
            [*PROGRAM, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
    process = _context().Process(
        target=_become,
        args=([*arguments], dict(environment), _Stream(out), _Stream(err), str(folder), crash),
        daemon=True,  # it is ended with the tests
    )
    process.start()
    return _Forked(process)


async def ended(process: Running) -> int:
    """Wait for its end without holding the loop; the exit code. A process whose waiter is cancelled is killed."""
    try:
        while (code := process.poll()) is None:  # noqa: ASYNC110 - another process has no event for us
            await anyio.sleep(_LOOK)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return code


async def run(arguments: Sequence[str], environment: Mapping[str, str], *, folder: Path = ROOT) -> Ended:
    """One command, to its end."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = await ended(start(arguments, environment, out, err, folder=folder))
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


@lru_cache(maxsize=1)
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.support.forking_preload"])
    return context


def _become(arguments: list[str], environment: dict[str, str], out: int, err: int, folder: str, crash: str) -> None:
    """In the forked process: be ``intentc`` with these arguments. multiprocessing reports what ``SystemExit`` says."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, out, err)):
        os.dup2(descriptor, number)
    os.closerange(3, 256)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # as intentc.watch does
    tempfile.tempdir = None  # what modules took from the environment when they were loaded is taken from the new one
    from intentc.cli import main

    sys.argv = ["intentc", *arguments]
    try:
        with installed(killer(crash)) if crash else nullcontext():
            main()
    finally:
        atexit._run_exitfuncs()


def killer(crash: str) -> Callable[[str], None]:
    """Kills this process at a crash point, as a machine failure would. ``crash``: ``NAME``, or ``NAME:3`` for the third
    visit."""
    name, _, count = crash.partition(":")
    assert name in POINTS | BRIDGE_POINTS | PUBLISHER_POINTS, f"there is no crash point {name!r}"
    left = int(count or 1)

    def at(point: str) -> None:
        nonlocal left
        left -= point == name
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    return at
