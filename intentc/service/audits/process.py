"""The audit as a process of its own: the same configuration, a low priority, an end for sure.

It is the command ``intentc audit``, so that what the service finds is what a person finds who asks. It ends with us
however we end: it watches its standard input, which the system closes with the last process that could write to it.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from subprocess import PIPE

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, Process

from intentc import crashpoints
from intentc.offline.audit import Report

_LOG = logging.getLogger(__name__)
_ANSWERED = frozenset({0, 1, 5})
"""Exit codes behind which there is a report: equal, differences, some held."""

BESIDE = "--beside-service"
"""The option by which the command knows that it is made for a service: it gives way, and ends with its input."""


class AuditFailed(Exception):
    """No report came: the process could not be started, failed, or took too long."""


class AuditProcess:
    """A ``Spawn``. ``config_file``: as the service was given it, "" for none; the environment is handed on.
    ``time_limit``: seconds."""

    def __init__(self, config_file: str, *, time_limit: float, program: Sequence[str] = ()) -> None:
        named = ["--config-file", config_file] if config_file else []
        begin = program or [sys.executable, "-m", "intentc.cli"]
        self._command = [*begin, *named, "audit", BESIDE, "--output", "json"]
        self._time_limit = time_limit

    async def __call__(self) -> Report:
        """Run it to its end. Raises ``AuditFailed``."""
        # A crash point is meant for the service's own path.
        environment = {name: value for name, value in os.environ.items() if name != crashpoints.VARIABLE}
        try:
            with anyio.fail_after(self._time_limit):
                process = await anyio.open_process(self._command, stdin=PIPE, env=environment)
                return await _answer(process)
        except TimeoutError:
            raise AuditFailed(f"it took more than {self._time_limit:g} s and was ended") from None
        except OSError as error:
            raise AuditFailed(f"it could not be started: {error}") from None


async def _answer(process: Process) -> Report:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    said: list[str] = []
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_log, process.stderr, said)
            out = b"".join([chunk async for chunk in process.stdout])
        code = await process.wait()
    finally:
        await _end(process)
    if code not in _ANSWERED:
        raise AuditFailed(f"it ended with code {code}" + (f": {_reason(said)}" if said else ""))
    try:
        return msgspec.json.decode(out, type=Report)
    except msgspec.MsgspecError as error:
        raise AuditFailed(f"its report can't be read: {error}") from None


def _reason(said: Sequence[str]) -> str:
    """Of the lines of a command that failed, what was wrong and where; of another program's its last words."""
    told = dict(line.split(": ", 1) for line in said if line.startswith(("error: ", "where: ")))
    if "error" not in told:
        return said[-1]
    place = told.get("where", "")
    return told["error"] + (f" ({place})" if place and place not in told["error"] else "")


async def _log(stream: ByteReceiveStream, said: list[str]) -> None:
    """What the process says on stderr becomes lines of our log; the last ones are kept in ``said``."""
    rest = b""
    async for chunk in stream:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _note(line, said)
    _note(rest, said)


def _note(line: bytes, said: list[str]) -> None:
    text = line.decode(errors="replace").strip()
    if text:
        _LOG.warning("audit: %s", text)
        said[:] = [*said[-9:], text]


async def _end(process: Process) -> None:
    """Whatever happened: the process is gone afterwards, and its pipes are closed."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.aclose()
