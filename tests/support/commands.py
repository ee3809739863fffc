"""The command line as users call it: each command is a process, configured for a live system.

Use it for tests of commands against running servers; ``processes.py`` starts and observes the processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import msgspec

from tests.support import forking
from tests.support.forking import PROGRAM, ROOT, Ended
from tests.support.live_system import LiveSystem
from tests.support.processes import Process, environment_with, start
from tests.support.waiting import PATIENCE

__all__ = ["PROGRAM", "ROOT", "SAMPLE", "Ended", "Intentc", "environment_with"]

SAMPLE = ROOT / "sample" / "tenant.yml"


class Intentc:
    """Runs ``intentc`` with a configuration that names the servers of one test's world."""

    def __init__(self, folder: Path, etcd: str, world: LiveSystem) -> None:
        self._folder = folder
        self._services: list[Process] = []
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
        with anyio.fail_after(PATIENCE):
            command = [*options, *map(str, arguments)]
            return await forking.run(command, environment_with(environment or {}))

    def start(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Process:
        """Start the service; without arguments as ``intentc --config-file F``."""
        log = self._folder / f"service-{len(self._services)}.log"
        command = ["--config-file", str(self.configuration), *arguments]
        self._services.append(start(command, log, environment or {}))
        return self._services[-1]

    def kill_all(self) -> None:
        for service in self._services:
            service.kill()
