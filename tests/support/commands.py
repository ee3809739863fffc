"""``intentc`` as real processes: commands that end, and the service that runs until it gets a signal."""

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
from typing import Any

import anyio
import httpx2
import msgspec

from tests.support import forking
from tests.support.forking import PROGRAM, ROOT, Running
from tests.support.live_system import WITHIN_SECONDS, LiveSystem, until
from tests.support.waiting import PATIENCE, pauses

__all__ = ["PROGRAM", "ROOT", "SAMPLE", "Ended", "Intentc", "Service", "environment_with"]

SAMPLE = ROOT / "sample" / "tenant.yml"
_DIAGNOSTICS = re.compile(r"diagnostics at (https?://[^\s\"]+)")


class Ended(forking.Ended):
    """What a command left; ``json``: what it printed as that."""

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


class Service:
    """A running ``intentc run``; its log is a file that grows."""

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
            await until(lambda: bool(_DIAGNOSTICS.search(self.log)) or self.process.poll() is not None)
            found = _DIAGNOSTICS.search(self.log)
            assert found, self.log
            self._url = found[1]
        return self._url

    async def get(self, path: str) -> httpx2.Response:
        """Its answer to ``GET path``. Raises ``httpx2.TransportError``."""
        return await fetch(await self.url() + path, PATIENCE)

    async def status(self) -> dict[str, Any]:
        return dict((await self.get("/status")).json())

    async def settled(self, revision: int) -> dict[str, Any]:
        """Its status once it has applied ``revision`` and has nothing left to do."""
        with anyio.fail_after(WITHIN_SECONDS):
            for pause in pauses():
                status = await self.status()
                if status["converged"] and status["applied_revision"] >= revision:
                    break
                await anyio.sleep(pause)
        return status

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.wait()

    async def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        await until(lambda: self.process.poll() is not None)
        return self.process.wait()


class Intentc:
    """Runs ``intentc`` with a configuration that names the servers of one test's world."""

    def __init__(self, folder: Path, etcd: str, world: LiveSystem) -> None:
        self._folder = folder
        self._services: list[Service] = []
        self.configuration = folder / "contrail.yml"
        self.write(
            {
                "etcd": {"endpoints": [etcd], "path": world.path, "dial_timeout": "10s"},
                "client": {"endpoint": world.url},
                "database": {"type": "postgres"},
                "compilation": {"msg_queue_lock_time": 2},
                "intentc": {
                    "installation": world.path,
                    "diagnostics": {"address": "127.0.0.1:0"},
                    "limits": {"writes_in_batch": 3, "concurrent_writes": 2},
                },
            }
        )

    def write(self, configuration: dict[str, Any]) -> None:
        """The configuration file; JSON is YAML."""
        self.configuration.write_bytes(msgspec.json.format(msgspec.json.encode(configuration)))

    async def __call__(
        self, *arguments: object, configured: bool = True, environment: Mapping[str, str] | None = None
    ) -> Ended:
        """Run one command to its end. ``environment``: what is set beside the surroundings."""
        options = ["--config-file", str(self.configuration)] if configured else []
        with anyio.fail_after(WITHIN_SECONDS):
            command = [*options, *map(str, arguments)]
            return Ended(*await forking.run(command, environment_with(environment or {})))

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Service:
        """Start the service; without arguments as ``intentc --config-file F``."""
        log = self._folder / f"service-{len(self._services)}.log"
        with log.open("wb") as stream:
            command = ["--config-file", str(self.configuration), *arguments]
            process = forking.start(command, environment_with(environment or {}), stream, stream)
        self._services.append(Service(process, log))
        return self._services[-1]

    def kill_all(self) -> None:
        for service in self._services:
            service.kill()


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
