"""Runs the audit in a process of its own, with the same configuration, a low priority and a time limit.

The process is the command ``intentc audit``, so the service finds what a person would find. It ends with the service,
however that ends: it watches its standard input, which the system closes with the last process that can write to it.

It starts the process, logs what it prints on stderr, decodes the report that it prints on stdout, and ends it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from subprocess import PIPE

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, Process

from intentc.offline.audit import Report
from intentc.reconcile.failures import Failure

_LOG = logging.getLogger(__name__)
_ANSWERED = frozenset({0, 1, 5})
"""Exit codes with a report: equal, differences, some intents held."""

BESIDE = "--beside-service"
"""The option of an audit for a service: it lowers its priority and ends with its standard input."""


class AuditFailed(Failure):
    """There is no report: the process could not be started, failed, or exceeded its time limit."""


class AuditProcess:
    """A ``Spawn``. ``config_file``: the service's own, "" for none; the process inherits the environment.
    ``time_limit``: seconds."""

    def __init__(self, config_file: str, *, time_limit: float, program: Sequence[str] = ()) -> None:
        named = ["--config-file", config_file] if config_file else []
        begin = program or [sys.executable, "-m", "intentc.cli"]
        self._command = [*begin, *named, "audit", BESIDE, "--output", "json"]
        self._time_limit = time_limit

    async def __call__(self) -> Report:
        """Run the process to its end. Raises ``AuditFailed``."""
        try:
            with anyio.fail_after(self._time_limit):
                process = await anyio.open_process(self._command, stdin=PIPE)
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
    """Return the error and its place from the output of the failed command, or the last line of another program's
    output."""
    fields = dict(line.split(": ", 1) for line in said if line.startswith(("error: ", "where: ")))
    if "error" not in fields:
        return said[-1]
    place = fields.get("where", "")
    return fields["error"] + (f" ({place})" if place and place not in fields["error"] else "")


async def _log(stream: ByteReceiveStream, said: list[str]) -> None:
    """Log each line of the process's stderr, and keep the last 10 in ``said``."""
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
    """Kill the process if it still runs, and close its pipes."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            process.kill()
        await process.aclose()
