"""A server of our own as a child process: started so that it can't outlive us, ended surely, on ports that are free.

Why it exists: ``intentc dev`` and tests run an etcd and an Envoy beside themselves, and neither may be left behind by a
crash, a SIGKILL or a Ctrl-C. What is started, and when it is ready, is left to ``embedded`` and ``embedded_envoy``.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

_STOP_WITHIN_SECONDS = 5.0

_TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
"""Run by a Python of its own before the server takes its place: PR_SET_PDEATHSIG, SIGKILL. Not as ``preexec_fn``:
forking a process with gRPC's threads and running Python before exec may hang."""


def start_tied(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a server whose output is appended to ``log``, and which the kernel kills when we end. Raises ``OSError``.

    It has a process group of its own: Ctrl-C in the terminal reaches us alone, and we end it in order.
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
    """Send a signal to the server and what it started; nothing if it is gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def end(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
    """End a server by ``number``, and by SIGKILL if it has not ended within five seconds."""
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
    """So many ports of 127.0.0.1 that nobody listens on, all different; another program may still take one."""
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
    it has been idle; one that waits for the child ends before only if all of us do, even by SIGKILL.
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
