"""The arena: a three-member etcd, two API servers and three compilers, all real processes, and what breaks them.

Each fault leaves the arena broken for a while and then whole; ``heal`` makes sure of that before anything is judged.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import msgspec
from anyio.to_thread import run_sync

from intentc.embedded.process import free_ports
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete
from tests.chaos import members
from tests.support.etcd_cluster import Cluster, running_cluster
from tests.support.live_system import PERSON, LiveSystem
from tests.support.process_system import LEASE_SECONDS, Settings
from tests.support.processes import Process, start

_COMPILERS = 3
_SERVERS = 2
PATIENCE = 240.0
"""Seconds within which anything that is waited for comes true on a machine that is very busy."""


class Arena:
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
        await run_sync(members.make_space, self.cluster)
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
        command = ["--config-file", str(self._written("audit", self._settings(0))), "audit"]
        process = start(command, log, {})
        code = await process.died(PATIENCE)
        return "" if code == 0 else f"exit code {code}: {process.log}"

    async def _writes(self, compiler: Process) -> bool:
        return bool((await compiler.status())["writing"]["permitted"])

    def _server(self, number: int) -> Process:
        settings: Settings = {
            "etcd": {"endpoints": self.cluster.endpoints, "path": self.world.path, "dial_timeout": "2s"},
            "server": {"address": self.urls[number].removeprefix("http://")},
            "no_auth": True,
            "log_level": "warning",
            "intentc": {"compilers": self._names, "limits": {"max_txn_ops": 1024}},
        }
        command = ["--config-file", str(self._written(f"server-{number}", settings)), "apiserver"]
        return start(command, self._log(f"server-{number}"), {})

    def _compiler(self, number: int) -> Process:
        configuration = self._written(f"compiler-{number}", self._settings(number))
        return start(["--config-file", str(configuration), "run"], self._log(f"compiler-{number}"), {})

    def _settings(self, number: int) -> Settings:
        return {
            "etcd": {"endpoints": self.cluster.endpoints, "path": self.world.path, "dial_timeout": "2s"},
            "client": {"endpoint": self.urls[number % _SERVERS]},
            "compilation": {"msg_queue_lock_time": f"{LEASE_SECONDS}s"},
            "intentc": {
                "compilers": self._names,
                "installation": self.world.path,
                "diagnostics": {"address": "127.0.0.1:0"},
                "limits": {"max_txn_ops": 1024, "max_deletes": 1_000},
                "watch": {"heartbeat": "500ms", "relist_slice": "250ms"},
            },
        }

    @property
    def _names(self) -> list[str]:
        return [compiler.name for compiler in self.world.loaded.compilers]

    def _log(self, name: str) -> Path:
        self._started += 1
        return self._folder / f"{name}-{self._started}.log"

    def _written(self, name: str, settings: Settings) -> Path:
        path = self._folder / f"{name}.yml"
        path.write_bytes(msgspec.json.encode(settings))  # JSON is YAML
        return path


class Faults:
    """What breaks an arena. ``for_a_while``: waits, as long as a fault lasts."""

    def __init__(self, arena: Arena, chance: random.Random, for_a_while: Callable[[], Awaitable[None]]) -> None:
        self._arena = arena
        self._chance = chance
        self._for_a_while = for_a_while
        self.table: dict[str, Callable[[], Awaitable[None]]] = {
            "a compiler is killed": self._compiler_killed,
            "a compiler is stopped": self._compiler_stopped,
            "an API server is killed": self._server_killed,
            "an API server is stopped": self._server_stopped,
            "etcd's leader is killed": self._etcd_leader_killed,
            "a member of etcd is stopped": self._etcd_member_stopped,
            "etcd loses its quorum": self._quorum_lost,
            "a member of etcd is replaced": self._etcd_member_replaced,
            "etcd is compacted": self._compacted,
            "a member of etcd is defragmented": self._defragmented,
            "etcd is full": self._full,
        }

    async def _compiler_killed(self) -> None:
        self._chance.choice(self._arena.compilers).kill()
        await self._for_a_while()

    async def _compiler_stopped(self) -> None:
        self._chance.choice(self._arena.compilers).suspend()
        await self._for_a_while()

    async def _server_killed(self) -> None:
        self._chance.choice(self._arena.servers).kill()
        await self._for_a_while()

    async def _server_stopped(self) -> None:
        self._chance.choice(self._arena.servers).suspend()
        await self._for_a_while()

    async def _etcd_leader_killed(self) -> None:
        leader = await run_sync(self._arena.cluster.leader)
        await run_sync(leader.kill)
        await self._for_a_while()

    async def _etcd_member_stopped(self) -> None:
        self._chance.choice(self._arena.cluster.members).suspend()
        await self._for_a_while()

    async def _quorum_lost(self) -> None:
        for member in self._chance.sample(self._arena.cluster.members, 2):
            member.suspend()
        await self._for_a_while()

    async def _etcd_member_replaced(self) -> None:
        member = self._chance.choice(self._arena.cluster.members)
        await run_sync(members.replace, self._arena.cluster, member)

    async def _compacted(self) -> None:
        await run_sync(members.compact, self._arena.cluster)

    async def _defragmented(self) -> None:
        await run_sync(members.defragment, self._chance.choice(self._arena.cluster.members))

    async def _full(self) -> None:
        await run_sync(members.fill, self._arena.cluster)
        await self._for_a_while()


@asynccontextmanager
async def running_arena(folder: Path, loaded: Loaded) -> AsyncIterator[Arena]:
    """An arena whose processes run; all of them are killed when the block is left."""
    with running_cluster(folder) as cluster:
        store = EtcdStore(cluster.endpoints, timeout=5.0)
        arena = Arena(cluster, LiveSystem(store, loaded), folder)
        try:
            async with httpx2.AsyncClient(headers=PERSON, trust_env=False, verify=False, timeout=60.0) as person:
                arena.world.person = person
                arena.start()
                await arena.heal()
                yield arena
        finally:
            arena.kill_all()
            with anyio.CancelScope(shield=True):
                await store.close()
