"""A process system: a live system whose compilers and API server are processes, with a fault proxy before each server.

    compiler ──(to_etcd)──▶ etcd ◀── API server ◀──(to_api)── compiler
                                          ▲
                                        person

Compilers (``intentc run``) reach etcd and the API server (``intentc apiserver``) only through a ``FaultProxy`` each;
the user, who offers the load, and the oracles go past both. Use it for kills, stops and broken connections. What a
scenario demands at the end is in ``tests/faults/oracles.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec

from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete
from tests.faults.fault_proxy import FaultProxy, fault_proxy
from tests.support.live_system import PERSON, LiveSystem
from tests.support.processes import Process, start

HEARTBEAT_SECONDS = 0.5
"""Between the heartbeats of the bench's compilers; three missing ones and a watch counts as dead."""
LEASE_SECONDS = 2
"""Of a leader: the shortest that etcd grants."""

Settings = dict[str, Any]


def compiler_settings(world: LiveSystem, endpoints: Sequence[str], url: str) -> Settings:
    """The configuration of a compiler that reaches etcd at ``endpoints`` and the API server at ``url``."""
    return {
        "etcd": {"endpoints": list(endpoints), "path": world.path, "dial_timeout": "2s"},
        "client": {"endpoint": url},
        "compilation": {"msg_queue_lock_time": f"{LEASE_SECONDS}s"},
        "intentc": {
            "compilers": [compiler.name for compiler in world.loaded.compilers],
            "installation": world.path,
            "diagnostics": {"address": "127.0.0.1:0"},
            "limits": {"max_txn_ops": 1024},
            "watch": {"heartbeat": f"{int(HEARTBEAT_SECONDS * 1000)}ms", "relist_slice": "250ms"},
        },
    }


def server_settings(world: LiveSystem, endpoints: Sequence[str], address: str) -> Settings:
    """The configuration of an API server at ``address`` (host:port), straight on etcd."""
    return {
        "etcd": {"endpoints": list(endpoints), "path": world.path, "dial_timeout": "2s"},
        "server": {"address": address},
        "no_auth": True,
        "log_level": "warning",
        "intentc": {
            "compilers": [compiler.name for compiler in world.loaded.compilers],
            "limits": {"max_txn_ops": 1024},
        },
    }


def written(folder: Path, name: str, settings: Settings) -> Path:
    """A configuration file with these settings."""
    path = folder / f"{name}.yml"
    path.write_bytes(msgspec.json.encode(settings))  # JSON is YAML
    return path


class ProcessSystem:
    """``world``: the person's side, and what is in etcd. ``settings``: of the next compiler that is started, in the
    form of the configuration file; change them before that."""

    def __init__(self, world: LiveSystem, folder: Path, to_etcd: Sequence[FaultProxy], to_api: FaultProxy) -> None:
        self.world = world
        self.folder = folder
        self.all_to_etcd = tuple(to_etcd)
        """A proxy before each member of etcd."""
        self.to_api = to_api
        self.api: Process | None = None
        """The API server's process, if it has one."""
        self.compilers: list[Process] = []
        self._numbers = itertools.count(1)
        endpoints = [proxy.address for proxy in to_etcd]
        self.settings = compiler_settings(world, endpoints, f"http://{to_api.address}")

    @property
    def to_etcd(self) -> FaultProxy:
        """The proxy before etcd, where there is one member."""
        return self.all_to_etcd[0]

    def start(self, *arguments: str, crash: str = "") -> Process:
        """Start a compiler. ``crash``: the crash point at which it dies (``create.sent:3``)."""
        number = next(self._numbers)
        configuration = written(self.folder, f"compiler-{number}", self.settings)
        command = ["--config-file", str(configuration), "run", *arguments]
        compiler = start(command, self.folder / f"compiler-{number}.log", {}, crash)
        self.compilers.append(compiler)
        return compiler

    async def end_lease(self) -> None:
        """A leader was killed: its lease ends now, and not after ``LEASE_SECONDS``. How long a take-over takes is
        measured by the scenarios of leading."""
        await self.world.store.transaction((), [Delete(f"/intentc/{self.world.path}/leader")])

    async def restarted(self, *, crash: str = "") -> Process:
        """Another compiler in the place of all those that run, which are killed. ``crash``: as for ``start``."""
        for compiler in self.compilers:
            compiler.kill()
        await self.end_lease()
        return self.start(crash=crash)

    async def heal(self) -> None:
        """No fault between any two."""
        for proxy in (*self.all_to_etcd, self.to_api):
            await proxy.heal()

    def kill_all(self) -> None:
        """End what was started."""
        for process in (*self.compilers, self.api):
            if process is not None:
                process.kill()

    @asynccontextmanager
    async def serving(self, endpoints: Sequence[str]) -> AsyncIterator[str]:
        """An API server as a process, straight on ``endpoints`` of etcd; its URL."""
        settings = server_settings(self.world, endpoints, "127.0.0.1:0")
        command = ["--config-file", str(written(self.folder, "apiserver", settings)), "apiserver"]
        self.api = start(command, self.folder / "apiserver.log", {})
        yield await self.api.serving_at()


@asynccontextmanager
async def running_bench(
    store: EtcdStore,
    endpoints: Sequence[str],
    loaded: Loaded,
    folder: Path,
    *,
    own_api_process: bool = True,
    of: type[LiveSystem] = LiveSystem,
) -> AsyncIterator[ProcessSystem]:
    """A bench on the etcd at ``endpoints`` with an API server that answers, and no compiler yet. The API server is a
    process of its own, or part of this one. ``of``: whose world it is."""
    world = of(store, loaded)
    async with fault_proxy("127.0.0.1:1") as to_api, _proxies(endpoints) as to_etcd, AsyncExitStack() as stack:
        bench = ProcessSystem(world, folder, to_etcd, to_api)
        stack.callback(bench.kill_all)
        if own_api_process:
            world.persons_url = await stack.enter_async_context(bench.serving(endpoints))
        else:
            world.persons_url = (await stack.enter_async_context(world.serving())).url
        to_api.target = world.persons_url.removeprefix("http://")
        limits = httpx2.Limits(keepalive_expiry=4.0)
        async with httpx2.AsyncClient(
            headers=PERSON, trust_env=False, verify=False, limits=limits, timeout=60.0
        ) as person:
            world.person = person
            yield bench


@asynccontextmanager
async def _proxies(endpoints: Sequence[str]) -> AsyncIterator[list[FaultProxy]]:
    proxies = [FaultProxy(endpoint) for endpoint in endpoints]
    try:
        for proxy in proxies:
            await proxy.start()
        yield proxies
    finally:
        with anyio.CancelScope(shield=True):
            for proxy in proxies:
                await proxy.close()
