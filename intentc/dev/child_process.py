"""Starts and ends servers as child processes; on Linux none outlives this process, however that ends.

Why it exists: ``intentc dev`` and tests run an etcd, an Envoy and small servers, and a crash, a SIGKILL or a Ctrl-C
must leave none behind. ``etcd_server``, ``envoy_server`` and ``echo_services`` decide what is started, and when it is
ready.

It starts processes, by a thread that lasts, signals and ends them, reads their logs, and finds free ports.
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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from intentc.cli.command_error import CommandError, Exit

_STOP_WITHIN_SECONDS = 5.0

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
