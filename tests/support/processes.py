"""Processes of ``intentc`` that run until a signal: started, stopped, continued, killed, and observed from outside.

Use it where a process matters: signals, kills, memory, take-overs. What they print goes to files; what they use is read
from ``/proc``.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import re
import signal
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import msgspec

from tests.support import forking
from tests.support.forking import Running
from tests.support.waiting import PATIENCE, pauses, until

_PAGE = os.sysconf("SC_PAGE_SIZE")
_ASKED_WITHIN = 10.0
"""Seconds for the status of a process that is in trouble."""
_END_OF_LOG = 3_000
"""Characters."""
_DIAGNOSTICS = re.compile(r"diagnostics at (https?://[^\s\"]+)")
_URL = re.compile(r"^(http://\S+)$", re.MULTILINE)


class Usage(NamedTuple):
    """What a process holds now: resident ``memory`` in bytes, open ``files`` (sockets too), ``threads``, and the
    ``cpu`` seconds that it has used."""

    memory: int
    files: int
    threads: int
    cpu: float


class Process:
    """A running ``intentc``; its log is a file that grows. ``status``, ``quiet`` and ``settled`` are for compilers."""

    def __init__(self, process: Running, log: Path) -> None:
        self.process = process
        self._log = log
        self._url = ""

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def url(self) -> str:
        """Where its diagnostics are, once it has logged that."""
        if not self._url:
            await until(lambda: bool(_DIAGNOSTICS.search(self.log)) or not self.alive)
            found = _DIAGNOSTICS.search(self.log)
            assert found, self.log
            self._url = found[1]
        return self._url

    async def get(self, path: str) -> httpx2.Response:
        """Its answer to ``GET path``. Raises ``httpx2.TransportError``."""
        return await fetch(await self.url() + path, PATIENCE)

    async def status(self) -> dict[str, Any]:
        return dict((await self.get("/status")).json())

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def suspend(self) -> None:
        """SIGSTOP: its connections stand, its timers don't."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, also while suspended; safe to call twice."""
        self.process.kill()
        self.process.wait()

    async def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        await until(lambda: not self.alive)
        return self.process.wait()

    def usage(self) -> Usage:
        """As it stands now. Raises ``FileNotFoundError`` if it has ended."""
        folder = Path(f"/proc/{self.process.pid}")
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        return Usage(
            memory=int((folder / "statm").read_text().split()[1]) * _PAGE,
            files=len(list((folder / "fd").iterdir())),
            threads=int(stat[17]),
            cpu=(int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"),
        )

    async def died(self, within: float) -> int:
        """Wait for its end; the exit code, negative for a signal. Raises ``TimeoutError`` with all that is known of
        it: what the kernel says, its last status, and the end of its log."""
        with anyio.move_on_after(within):
            while self.alive:  # noqa: ASYNC110 - a process has no event
                await anyio.sleep(0.01)
            return self.process.wait()
        raise TimeoutError(f"process {self.process.pid} is alive after {within:g} s: {await self._condition()}")

    async def _condition(self) -> str:
        """What can be found out about a process that does not do what was expected of it."""
        try:
            with anyio.fail_after(_ASKED_WITHIN):
                shown = _shown(await self.status())
        except (TimeoutError, AssertionError, httpx2.TransportError) as error:
            shown = f"no status ({type(error).__name__}: {error})"
        return f"{_known_to_the_kernel(self.process.pid)}\n{shown}\n{self.log[-_END_OF_LOG:]}"

    async def ready(self) -> tuple[bool, list[str]]:
        """What ``/readyz`` says: whether, and the reasons if not."""
        answer = await self.get("/readyz")
        return answer.status_code == 200, list(answer.json()["reasons"])

    async def until_ready(self, wanted: bool, within: float) -> None:
        """Wait until ``/readyz`` says so. Raises ``TimeoutError``."""
        with anyio.fail_after(within):
            for pause in pauses():
                if (await self.ready())[0] is wanted:
                    return
                await anyio.sleep(pause)

    async def quiet(self, revision: int, within: float, *, standby: bool = False) -> dict[str, Any]:
        """Its status once it has applied ``revision``, may write, and has nothing left to do. ``standby``: whether it
        may write or not. Raises ``TimeoutError``, with the last status and the end of the log."""
        status: dict[str, Any] = {}
        with anyio.move_on_after(within):
            for pause in pauses():
                try:
                    status = await self.status()
                except httpx2.TransportError as error:
                    status = {"error": str(error)}
                    assert self.alive, self.log[-3000:]
                idle = status.get("converged") and (standby or status["writing"]["permitted"])
                if idle and status["applied_revision"] >= revision:
                    return status
                await anyio.sleep(pause)
        raise TimeoutError(f"not quiet at {revision} within {within} s: {_shown(status)}\n{self.log[-_END_OF_LOG:]}")

    async def settled(self, revision: int) -> dict[str, Any]:
        """Its status once it has applied ``revision`` and has nothing left to do, whether it may write or not."""
        return await self.quiet(revision, PATIENCE, standby=True)

    async def serving_at(self, within: float = PATIENCE) -> str:
        """The URL that an API server prints on stdout."""
        with anyio.fail_after(within):
            while not (found := _URL.search(self.log)):
                assert self.alive, self.log
                await anyio.sleep(0.01)
        return found[1]


def _known_to_the_kernel(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        return f"no such process ({error}): its end was not reported"


def _shown(status: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(status)).decode()


def start(arguments: list[str], log: Path, environment: Mapping[str, str], crash: str = "") -> Process:
    """``intentc`` with ``arguments``; stdout and stderr go to ``log``. ``environment``: what is set in addition to the
    test's own. ``crash``: the crash point at which it dies (``create.sent:3``: at the third visit)."""
    with log.open("wb") as stream:
        process = forking.start(arguments, environment_with(environment), stream, stream, crash=crash)
    return Process(process, log)


async def fetch(url: str, within: float) -> httpx2.Response:
    """The answer to a ``GET``, over a connection of its own that is not encrypted. Raises ``httpx2.TransportError``.

    Processes are asked for their status thousands of times in a run: a client of ``httpx2`` costs six times as much.
    """
    parts = httpx2.URL(url)
    writer = None
    try:
        async with asyncio.timeout(within):
            reader, writer = await asyncio.open_connection(parts.host, parts.port)
            target = parts.raw_path.decode()
            writer.write(
                f"GET {target} HTTP/1.1\r\nHost: {parts.netloc.decode()}\r\nConnection: close\r\n\r\n".encode()
            )
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    except TimeoutError:
        raise httpx2.ReadTimeout(f"{url}: no answer within {within:g} s") from None
    except OSError as error:
        raise httpx2.ConnectError(f"{url}: {error}") from None
    finally:
        if writer is not None:
            writer.close()
    if not head:
        raise httpx2.RemoteProtocolError(f"{url}: the connection was closed without an answer")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    assert not any(name.lower() == "transfer-encoding" for name, _ in headers), "read by its length or to its end"
    return httpx2.Response(int(first.split()[1]), headers=headers, content=body)


def environment_with(further: Mapping[str, str]) -> dict[str, str]:
    """Our surroundings without settings of ``intentc``, and ``further``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTENTC_")}
    return {**kept, "COLUMNS": "200", "STATE_DIRECTORY": _state_directory(), **further}


@lru_cache(maxsize=1)
def _state_directory() -> str:
    """Where processes of this run leave what the next ones need. Installations of two runs at once have the same
    names, and what one leaves must not be read, and removed, by another."""
    folder = tempfile.TemporaryDirectory(prefix="intentc-state-")
    atexit.register(folder.cleanup)
    return folder.name
