"""Loads the whole program once and forks processes from it: ``python -m tests.support.forking.server DESCRIPTOR``.

``DESCRIPTOR``: one end of a socket pair. A message is JSON (``arguments``, ``folder``, ``environment``, ``crash``) with
four descriptors: stdin, stdout, stderr, and a socket on which the process's pid and later its exit status are sent, a
line each. A process that has ended is reaped when that socket is closed, so that its pid belongs to nobody else before.
When the other end closes, what still runs is killed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

from intentc import crashpoints

DESCRIPTORS = 4
LARGEST = 1 << 20
"""Bytes of a message."""
_LOADED_WHEN_USED = (
    "anyio._backends._asyncio",
    "grpc.experimental",
    "httpcore2",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.loops.uvloop",
)


class Server:
    """Forks until the other end closes."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, socket.socket] = {}
        self._waiting = selectors.DefaultSelector()
        woken, wake = socket.socketpair()
        woken.setblocking(False)
        wake.setblocking(False)
        self._woken, self._wake = woken, wake

    def serve(self) -> list[str] | None:
        """In a forked process: its arguments, as soon as it is one. In the server: None when all is over."""
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self._wake.fileno())
        self._waiting.register(self._control, selectors.EVENT_READ)
        self._waiting.register(self._woken, selectors.EVENT_READ)
        while True:
            for key, _ in self._waiting.select():
                if key.fileobj is self._control:
                    message, descriptors, _, _ = socket.recv_fds(self._control, LARGEST, DESCRIPTORS)
                    if not message:
                        self._end()
                        return None
                    arguments = self._fork(json.loads(message), descriptors)
                    if arguments is not None:
                        return arguments
                elif key.fileobj is self._woken:
                    self._woken.recv(4096)
                    self._report()
                else:
                    self._reap(key.data)

    def _fork(self, message: dict[str, Any], descriptors: list[int]) -> list[str] | None:
        *streams, status = descriptors
        pid = os.fork()
        if not pid:
            self._become(message, streams)
            return list(message["arguments"])
        for stream in streams:
            os.close(stream)
        self._running[pid] = socket.socket(fileno=status)
        self._running[pid].sendall(f"{pid}\n".encode())
        self._waiting.register(self._running[pid], selectors.EVENT_READ, pid)
        return None

    def _become(self, message: dict[str, Any], streams: list[int]) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        self._waiting.close()
        os.closerange(3, 1 << 20)
        self._control.detach()
        for other in (*self._running.values(), self._woken, self._wake):
            other.detach()
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
        os.chdir(message["folder"])
        _surround(message["environment"])
        if message["crash"]:
            crashpoints.install(killer(message["crash"]))

    def _report(self) -> None:
        """Send the status of each process that has ended, and leave it to be reaped."""
        for pid, status in self._running.items():
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is not None:
                code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
                _send(status, f"{code}\n".encode())

    def _reap(self, pid: int) -> None:
        """Nobody wants to know of it any more, or its status was sent."""
        status = self._running.pop(pid)
        self._waiting.unregister(status)
        status.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def _end(self) -> None:
        for pid in list(self._running):
            self._reap(pid)


def killer(crash: str) -> crashpoints.Hook:
    """Kills this process at a crash point, as a machine failure would. ``crash``: ``NAME``, or ``NAME:3`` for the third
    visit."""
    name, _, count = crash.partition(":")
    assert name in crashpoints.POINTS | crashpoints.BRIDGE_POINTS | crashpoints.PUBLISHER_POINTS, (
        f"there is no crash point {name!r}"
    )
    left = int(count or 1)

    def at(point: str) -> None:
        nonlocal left
        left -= point == name
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    return at


def _send(status: socket.socket, line: bytes) -> None:
    try:
        status.sendall(line)
    except OSError:  # the other end has closed meanwhile
        return


def _surround(environment: Mapping[str, str]) -> None:
    """What modules took from the environment when they were loaded is taken from the new one."""
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # as intentc.watch does


def _load_everything() -> None:
    """What every process would import and read anew: modules, and what ships and is read once per process, such as
    the kinds."""
    import intentc
    from intentc.loading.configuration.reading import load
    from intentc.plugins import find_compilers, installed, load_all

    for module in pkgutil.walk_packages(intentc.__path__, "intentc."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _LOADED_WHEN_USED:
        importlib.import_module(name)
    installed(load(None, {}).configuration)
    load_all(find_compilers(["ambassador"]))  # what isn't the default
    gc.collect()
    gc.freeze()


def _end(code: int) -> NoReturn:
    """End as Python does: wait for threads, call what was registered for the end, flush, and report what can't be
    written. Modules are not taken apart: in a forked process this copies all that was loaded, 40 ms of CPU each time.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:
            if stream is sys.stdout:
                os.write(2, f"Exception ignored in: {stream!r}\n{error!r}\n".encode())
            code = 120
    os._exit(code)


def main(descriptor: str) -> None:
    _load_everything()
    arguments = Server(socket.socket(fileno=int(descriptor))).serve()
    if arguments is not None:
        from intentc.cli import main

        sys.argv = ["intentc", *arguments]
        try:
            main()
        except SystemExit as error:
            _end(error.code if isinstance(error.code, int) else int(error.code is not None))


if __name__ == "__main__":
    main(*sys.argv[1:])
