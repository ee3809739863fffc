"""Processes of a fault test: the compiler and the API server, stopped, continued, killed, and looked at from outside.

What they print goes to files; what they use is read from ``/proc``, so that a process is measured as it is.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx2
import msgspec

from tests.support import forking
from tests.support.commands import Service, environment_with
from tests.support.waiting import PATIENCE, pauses

_PAGE = os.sysconf("SC_PAGE_SIZE")
_ASKED_WITHIN = 10.0
"""Seconds for the status of a process that is in trouble."""
_END_OF_LOG = 3_000
"""Characters."""
_URL = re.compile(r"^(http://\S+)$", re.MULTILINE)


class Usage(NamedTuple):
    """What a process holds now: resident ``memory`` in bytes, open ``files`` (sockets too), ``threads``, and the
    ``cpu`` seconds that it has used."""

    memory: int
    files: int
    threads: int
    cpu: float


class Process(Service):
    """A process of ours. ``settled`` and ``status`` are for compilers."""

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
