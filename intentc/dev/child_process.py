"""Starts and ends servers as child processes; on Linux none outlives this process, however that ends.

Why it exists: ``intentc dev`` and tests run an etcd, an Envoy and small servers, and a crash, a SIGKILL or a Ctrl-C
must leave none behind. ``etcd_server``, ``envoy_server`` and ``echo_services`` decide what is started, and when it is
ready.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from intentc.cli.command_error import CommandError, Exit

_STOP_WITHIN_SECONDS = 5.0
_READY_WITHIN_SECONDS = 30.0
_POLL_SECONDS = 0.02

_TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
"""Run by a separate Python that becomes the server: PR_SET_PDEATHSIG, SIGKILL.

Not as ``preexec_fn``: to fork a process with gRPC's threads and run Python before exec may hang.
"""


class NotStarted(CommandError):
    """There is no such server to run, or it did not start. The message says what to install or what it printed."""

    def __init__(self, what: str) -> None:
        super().__init__(what, code=Exit.UNREACHABLE)


def binary_on_path(name: str) -> Path | None:
    """The program on PATH, if any, except for the script that a wheel installs next to our Python."""
    scripts = sysconfig.get_path("scripts")
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(folder for folder in folders if folder != scripts))
    return Path(found) if found else None


def start_tied(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a server that the kernel kills when this process ends; its output goes to ``log``. Raises ``OSError``.

    It has a process group of its own: Ctrl-C in the terminal reaches only this process, which ends it gracefully.
    """
    if sys.platform == "linux":
        arguments = [sys.executable, "-I", "-S", "-c", _TIED, *arguments]
    with log.open("ab") as output:
        return _started_by_lasting_thread(
            lambda: subprocess.Popen(  # noqa: S603 - the binary is the one asked for
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        )


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the server and its children, if it still runs."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def end(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """End a server by the signal ``number``, and by SIGKILL after 5 s."""
    signal_group(process, number)
    try:
        process.wait(_STOP_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        signal_group(process, signal.SIGKILL)
        process.wait()


def log_tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log; empty if there is none yet."""
    with suppress(FileNotFoundError):
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    return ""


class ServerProcess:
    """One server as a child process. All methods block and are safe to call twice.

    Subclasses start it, check whether it is ready, and delete its files. ``folder`` holds its files and its log;
    ``not_started`` is raised with the last lines that it printed.
    """

    not_started: type[NotStarted] = NotStarted

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self._log = folder / "log"

    def start(self) -> None:
        """Start it and wait until it is ready. Raises ``not_started``."""
        if self.process is not None:
            return
        try:
            self.process = self._launch()
            self._wait_until_ready(self.process)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it gracefully."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it and delete its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log_tail(self, lines: int = 15) -> str:
        """The last lines that it printed."""
        return log_tail(self._log, lines)

    def _launch(self) -> subprocess.Popen[bytes]:
        raise NotImplementedError

    def _is_ready(self) -> bool:
        raise NotImplementedError

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _READY_WITHIN_SECONDS
        while not self._is_ready():
            what = ""
            if process.poll() is not None:
                what = f"ended with code {process.returncode}"
            elif time.monotonic() >= deadline:
                what = f"was not ready within {_READY_WITHIN_SECONDS:g} s"
            if what:
                raise self.not_started(f"{self.binary} {what}; it printed:\n{self.log_tail()}")
            time.sleep(_POLL_SECONDS)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            end(self.process, number)
            self.process = None


_Server = TypeVar("_Server", bound=ServerProcess)


@asynccontextmanager
async def running_process(server: _Server) -> AsyncIterator[_Server]:
    """Run a server, ready, until the block ends in any way, and delete its files."""
    try:
        await anyio.to_thread.run_sync(server.start)
        yield server
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(server.close)


def free_ports(count: int) -> list[int]:
    """``count`` different free ports of 127.0.0.1; another program may still take one."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _started_by_lasting_thread(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start a process from a thread that ends when the process does. Raises what ``start`` raises.

    The kernel sends a child its death signal when the *thread* that started it ends, and a worker thread ends whenever
    it has been idle. A thread that waits for the child ends earlier only with the whole process, even by SIGKILL.
    """
    started: Future[subprocess.Popen[bytes]] = Future()

    def run() -> None:
        try:
            process = start()
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(process)
        process.wait()

    threading.Thread(target=run, name="child", daemon=True).start()
    return started.result()
