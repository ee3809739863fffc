"""Runs the services behind a sample for ``intentc dev``: ``sample/echo.py``, which answers with what it was asked.

Why it exists: a sample with a gateway needs services behind it, and a newcomer has none. The annotation
``intentc.dev/echo: HOST:PORT`` on a loaded resource of any kind requests one. No other command reads that annotation.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread

from intentc.cli.command_error import CommandError
from intentc.loading.configuration import is_loopback
from intentc.loading.paths import echo_program

from .child_process import end, log_tail, start_tied

ANNOTATION = "intentc.dev/echo"
_READY = "ready"
_POLL_SECONDS = 0.01


class Echo(NamedTuple):
    """A requested service: it answers with ``name`` at ``address``."""

    name: str
    address: str


def wanted(resources: Iterable[Mapping[str, Any]]) -> list[Echo]:
    """The services that annotations request, each port once; named after the resource (the last element of its
    fq_name). Raises ``CommandError`` for an invalid address, or one that is not loopback."""
    found: dict[int, Echo] = {}
    for data in resources:
        pairs = (data.get("annotations") or {}).get("key_value_pair") or ()
        found_in = [pair.get("value") for pair in pairs if pair.get("key") == ANNOTATION]
        of_manifest = ((data.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
        for address in (*found_in, *([of_manifest] if of_manifest else ())):
            name = str(data["fq_name"][-1])
            found.setdefault(_port(name, address), Echo(name, address))
    return list(found.values())


@asynccontextmanager
async def running_echoes(echoes: Sequence[Echo]) -> AsyncIterator[None]:
    """Serve until the block ends. Raises ``CommandError`` if an address is taken."""
    if not echoes:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="intentc-echo-") as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-I", "-S", str(echo_program()), *(f"{one.name}={one.address}" for one in echoes)]
        process = await anyio.to_thread.run_sync(partial(start_tied, command, log, os.environ))
        try:
            await _until_ready(process, log)
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(end, process)


def _port(name: str, address: Any) -> int:
    host, _, port = str(address).rpartition(":")
    if not (port.isdecimal() and 0 < int(port) < 65_536 and is_loopback(host.strip("[]"))):
        raise CommandError(
            f"the annotation {ANNOTATION} of {name} is {address!r}; it is an address of this machine, such as "
            "127.0.0.1:18081"
        )
    return int(port)


async def _until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    while log_tail(log) != _READY:
        if process.poll() is not None:
            raise CommandError(
                log_tail(log, lines=1) or f"{echo_program()} ended with code {process.returncode}",
                next_step=f"end what listens there, or change the port: in {ANNOTATION}, and where requests are sent",
            )
        await anyio.sleep(_POLL_SECONDS)
