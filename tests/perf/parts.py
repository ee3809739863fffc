"""Processes of the bench: started, asked by lines of JSON, measured from inside, surely ended.

A part writes one line when it is ready, then answers each line that it reads with one; the end of its input ends it.
``Part`` is the asking side, ``serve`` the answering one.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio.to_thread
import msgspec

_ENDS_WITHIN = 10.0
_ROOT = Path(__file__).parents[2]
_PAGE = resource.getpagesize()

Question = dict[str, Any]


class Usage(NamedTuple):
    """What a process has used: ``cpu`` in seconds (user and system, all threads), ``memory`` resident in bytes."""

    cpu: float
    memory: int

    @classmethod
    def now(cls) -> Usage:
        """Of this process."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        resident = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(used.ru_utime + used.ru_stime, resident * _PAGE)


class PartFailed(Exception):
    """A process of the bench ended before its time; the message is the end of what it printed."""


class Part:
    """A running process. ``ready``: what it said when it was."""

    def __init__(self, process: asyncio.subprocess.Process, errors: Path) -> None:
        self._process = process
        self._errors = errors
        self.ready: dict[str, Any] = {}

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, question: str, **details: Any) -> dict[str, Any]:
        """The answer to one question. Raises ``PartFailed``."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode({"question": question, **details}) + b"\n")
        return await self.read()

    async def usage(self) -> Usage:
        """What it has used by now."""
        return Usage(**await self.ask("usage"))

    async def read(self) -> dict[str, Any]:
        """Its next line."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            await self._process.wait()
            raise PartFailed(self._errors.read_text()[-2000:])
        return msgspec.json.decode(line, type=dict[str, Any])

    async def close(self) -> None:
        """End it, by asking first."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_ENDS_WITHIN):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def running_part(module: str, *arguments: str) -> AsyncIterator[Part]:
    """``tests.perf.<module>`` as a process of its own, ready; ended when the block is left."""
    with tempfile.NamedTemporaryFile(prefix="intentc-perf-") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"tests.perf.{module}",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=_ROOT,
        )
        part = Part(process, Path(errors.name))
        try:
            part.ready = await part.read()
            yield part
        finally:
            await part.close()


async def serve(ready: dict[str, Any], answer: Callable[[Question], Awaitable[dict[str, Any]]]) -> None:
    """Say ``ready``, then answer questions until the input ends; ``usage`` is answered here."""
    _say(ready)
    while line := await anyio.to_thread.run_sync(sys.stdin.buffer.readline, abandon_on_cancel=True):
        question = msgspec.json.decode(line, type=Question)
        _say(Usage.now()._asdict() if question["question"] == "usage" else await answer(question))


def _say(words: dict[str, Any]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(words) + b"\n")
    sys.stdout.buffer.flush()
