"""Asks the forking process for processes, and stands for each of them as ``subprocess.Popen`` does."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import anyio
import msgspec

from intentc.loading.yaml import load_yaml

ROOT = Path(__file__).parents[3]
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
    returncode: int | None

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...

    def kill(self) -> None: ...

    def send_signal(self, sig: int) -> None: ...


class Forked:
    """A process that was forked; see ``Running``."""

    def __init__(self, status: socket.socket) -> None:
        self.returncode: int | None = None
        self._status = status
        self._lines = status.makefile("rb", buffering=0)
        self.pid = int(self._lines.readline())

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        if self.returncode is None:
            self._status.setblocking(False)
            try:
                self._status.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return None
            finally:
                self._status.setblocking(True)
            self._read()
        return self.returncode

    def wait(self) -> int:
        """Wait for its end; the exit code."""
        if self.returncode is None:
            self._read()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Does nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read(self) -> None:
        line = self._lines.readline()
        assert line, "the forking process has ended"
        self.returncode = int(line)
        self._lines.close()
        self._status.close()  # now it is reaped

    def __del__(self) -> None:
        self._lines.close()
        self._status.close()


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
    ours, theirs = socket.socketpair()
    message = {"arguments": list(arguments), "folder": str(folder), "environment": dict(environment), "crash": crash}
    with theirs, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        descriptors = [nothing.fileno(), out.fileno(), err.fileno(), theirs.fileno()]
        socket.send_fds(_forking(), [json.dumps(message).encode()], descriptors)
    return Forked(ours)


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
def _forking() -> socket.socket:
    """The connection to the forking process, which is started with the first test that needs it and ends with us."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forking.server", str(theirs.fileno())],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def end() -> None:
        with suppress(OSError):
            ours.close()
        server.wait()

    atexit.register(end)
    return ours
