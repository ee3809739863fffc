"""A cluster system: a three-member etcd, two API servers and three compilers, all real processes on one machine.

Use it where servers fail by themselves; ``process_system`` has one of each and breaks the wires between them. ``heal``
makes all of it whole again, whatever was broken.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
from anyio.to_thread import run_sync

from intentc.dev.child_process import free_ports
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete
from tests.chaos import etcd_members
from tests.faults.etcd_cluster import Cluster, running_cluster
from tests.faults.process_system import Settings, compiler_settings, server_settings, written
from tests.support.live_system import PERSON, LiveSystem
from tests.support.processes import Process, start

_COMPILERS = 3
_SERVERS = 2
PATIENCE = 240.0
"""Seconds within which anything that is waited for comes true on a machine that is very busy."""


class ClusterSystem:
    """``settings`` are those of a compiler. ``urls``: of the API servers, the same over restarts."""

    def __init__(self, cluster: Cluster, world: LiveSystem, folder: Path) -> None:
        self.cluster = cluster
        self.world = world
        self.urls = [f"http://127.0.0.1:{port}" for port in free_ports(_SERVERS)]
        world.persons_url = self.urls[0]
        self.servers: list[Process] = []
        self.compilers: list[Process] = []
        self._folder = folder
        self._started = 0

    def start(self) -> None:
        """Start what is not running yet."""
        self.servers = [self._server(number) for number in range(_SERVERS)]
        self.compilers = [self._compiler(number) for number in range(_COMPILERS)]

    def kill_all(self) -> None:
        """End every process but etcd's."""
        for process in (*self.compilers, *self.servers):
            process.kill()

    async def quiet(self, revision: int) -> None:
        """Every compiler has applied ``revision`` and has nothing left to do, and one of them writes."""
        for compiler in self.compilers:
            await compiler.quiet(revision, PATIENCE, standby=True)
        with anyio.fail_after(PATIENCE):
            while not any([await self._writes(compiler) for compiler in self.compilers]):  # noqa: ASYNC110 - processes
                await anyio.sleep(0.05)
        for compiler in self.compilers:
            await compiler.quiet(revision, PATIENCE, standby=True)

    async def restarted(self) -> None:
        """New processes in the place of all compilers, whose leader's lease ends now."""
        for compiler in self.compilers:
            compiler.kill()
        await self.world.store.transaction((), [Delete(f"/intentc/{self.world.path}/leader")])
        self.compilers = [self._compiler(number) for number in range(_COMPILERS)]

    async def heal(self) -> None:
        """Everything runs, and etcd takes writes."""
        for member in self.cluster.members:
            if member.running:
                member.resume()
            else:
                self.cluster.start(member)
        await run_sync(self.cluster.until_healthy)
        await run_sync(etcd_members.make_space, self.cluster)
        for number, server in enumerate(self.servers):
            server.resume()
            if not server.alive:
                self.servers[number] = self._server(number)
        for number, compiler in enumerate(self.compilers):
            compiler.resume()
            if not compiler.alive:
                self.compilers[number] = self._compiler(number)
        for server in self.servers:
            await server.serving_at(PATIENCE)

    async def audit(self) -> str:
        """What ``intentc audit`` prints; "" if it ended with 0."""
        log = self._folder / "audit.log"
        command = ["--config-file", str(written(self._folder, "audit", self._settings(0))), "audit"]
        process = start(command, log, {})
        code = await process.died(PATIENCE)
        return "" if code == 0 else f"exit code {code}: {process.log}"

    async def _writes(self, compiler: Process) -> bool:
        return bool((await compiler.status())["writing"]["permitted"])

    def _server(self, number: int) -> Process:
        address = self.urls[number].removeprefix("http://")
        settings = server_settings(self.world, self.cluster.endpoints, address)
        command = ["--config-file", str(written(self._folder, f"server-{number}", settings)), "apiserver"]
        return start(command, self._log(f"server-{number}"), {})

    def _compiler(self, number: int) -> Process:
        configuration = written(self._folder, f"compiler-{number}", self._settings(number))
        return start(["--config-file", str(configuration), "run"], self._log(f"compiler-{number}"), {})

    def _settings(self, number: int) -> Settings:
        settings = compiler_settings(self.world, self.cluster.endpoints, self.urls[number % _SERVERS])
        settings["intentc"]["limits"]["max_deletes"] = 1_000
        return settings

    def _log(self, name: str) -> Path:
        self._started += 1
        return self._folder / f"{name}-{self._started}.log"


@asynccontextmanager
async def running_cluster_system(folder: Path, loaded: Loaded) -> AsyncIterator[ClusterSystem]:
    """A cluster system whose processes run; all of them are killed when the block is left."""
    with running_cluster(folder) as cluster:
        store = EtcdStore(cluster.endpoints, timeout=5.0)
        made = ClusterSystem(cluster, LiveSystem(store, loaded), folder)
        try:
            async with httpx2.AsyncClient(headers=PERSON, trust_env=False, verify=False, timeout=60.0) as person:
                made.world.person = person
                made.start()
                await made.heal()
                yield made
        finally:
            made.kill_all()
            with anyio.CancelScope(shield=True):
                await store.close()
