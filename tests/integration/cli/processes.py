"""``intentc`` as real processes: commands that end, and the service that runs until it gets a signal."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec

from tests import forking
from tests.forking import PROGRAM, ROOT, Running
from tests.integration.compile.world import WITHIN_SECONDS, World, until
from tests.patience import PATIENCE

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

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def url(self) -> str:
        """Where its diagnostics are, once it has told."""
        await until(lambda: bool(_DIAGNOSTICS.search(self.log)) or self.process.poll() is not None)
        found = _DIAGNOSTICS.search(self.log)
        assert found, self.log
        return found[1]

    async def get(self, path: str) -> httpx2.Response:
        async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False) as client:
            # Asked again and again: without certificates to load, a client costs next to nothing.
            return await client.get(await self.url() + path)

    async def status(self) -> dict[str, Any]:
        return dict((await self.get("/status")).json())

    async def settled(self, revision: int) -> dict[str, Any]:
        """Its status once it has applied ``revision`` and has nothing left to do."""
        with anyio.fail_after(WITHIN_SECONDS):
            while True:
                status = await self.status()
                if status["converged"] and status["applied_revision"] >= revision:
                    return status
                await anyio.sleep(0.05)

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

    def __init__(self, folder: Path, etcd: str, world: World) -> None:
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


def environment_with(further: Mapping[str, str]) -> dict[str, str]:
    """Our surroundings without settings of ``intentc``, and ``further``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INTENTC_")}
    return {**kept, "COLUMNS": "200", **further}
