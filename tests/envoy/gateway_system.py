"""A gateway system: the whole chain as ``intentc dev`` starts it, from etcd to a real Envoy.

The tests of a module share one, and each leaves it empty; ports are each test's own. What people do is done by the
functions behind the commands.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import httpx2

from intentc.bridges.xds.elements import REJECTION
from intentc.cli.api_client import ApiClient, Change
from intentc.cli.connecting import api_server
from intentc.cli.envoy_output import elements_of
from intentc.cli.input_files import read_input
from intentc.cli.transfer import Sent, apply_resources, present, send
from intentc.dev.envoy_gateway import Gateway, running_gateway
from intentc.dev.example_requests import ports
from intentc.dev.servers import Running, running
from intentc.inspection.shown_resources import lower_level, shown
from intentc.loading.configuration import Configuration, Settings
from intentc.loading.configuration.sections import Etcd, Intentc
from intentc.loading.resource_files import Loaded
from intentc.writing.connection import Connection
from tests.envoy.manifests import Manifest
from tests.support.envoy.held_ports import held_port
from tests.support.waiting import PATIENCE

_MUTE_SECONDS = 0.5
"""How long a service behind a port for TCP may say nothing."""
CONFIGURATION = Configuration(
    etcd=Etcd(path="live"),
    intentc=Intentc(
        compilers=("ambassador",),
        settings=Settings({"ambassador.allowed_targets": ["127.0.0.0/8"], "ambassador.bind_address": "127.0.0.1"}),
    ),
)


class Chain(NamedTuple):
    """What runs, whoever uses it; ``client``: for requests through Envoy."""

    started: Running
    gateway: Gateway
    client: httpx2.AsyncClient


class GatewaySystem:
    """A chain in which nothing is applied yet.

    ``port``, ``secure_port``, ``tcp_port``: for the test's Listeners; ``client``: for requests through Envoy
    (certificates are the test's to check).
    """

    def __init__(self, chain: Chain, ports: tuple[int, int, int], folder: Path) -> None:
        self.started, self.gateway, self.client = chain
        self.port, self.secure_port, self.tcp_port = ports
        self._folder = folder
        self._there: dict[tuple[str, str], Manifest] = {}

    async def apply(self, *manifests: Manifest | list[Manifest]) -> None:
        """As ``intentc apply``; returns when Envoy goes by it."""
        resources, schema = self._read(manifests)
        self._there.update({_identity(one): one for one in _flat(manifests)})
        applied = await apply_resources(resources, schema, self.started.configuration)
        await self.settled(applied.revision)

    async def delete(self, *manifests: Manifest | list[Manifest]) -> None:
        """As ``intentc delete``; returns when Envoy goes by it."""
        resources, schema = self._read(manifests)
        async with ApiClient(Connection(api_server(self.started.configuration))) as client:
            uuids = await present(client, resources, schema)
            changes = [
                Sent(resource, Change("DELETE", resource.kind, {"uuid": uuid}))
                for resource, uuid in zip(resources, uuids, strict=True)
            ]
            await send(client, changes)
            for one in _flat(manifests):
                del self._there[_identity(one)]
            await self.settled(client.revision)

    async def empty(self) -> None:
        """Delete what is still there of all that was applied; nothing must be left of it."""
        if self._there:
            await self.delete(*self._there.values())
        engine = self.started.service.engine
        assert [shown(resource) for resource in lower_level(engine.world, engine.planner)] == []
        assert self.problems == []

    async def settled(self, revision: int = 0) -> None:
        """Return when everything up to ``revision`` is compiled, Envoy has answered what followed, and the compiler
        knows what Envoy rejected: that comes back through etcd, and more may follow from it."""
        engine = self.started.service.engine
        with anyio.fail_after(PATIENCE):
            known: set[tuple[str, ...]] | None = None
            while known != (known := self._known_rejections()) or known != self._rejected():
                await engine.settled(revision)
                await self.gateway.accepted(max(revision, engine.sender.last_revision))
                await anyio.lowlevel.checkpoint()
            for place in ports(elements_of(shown(resource) for resource in lower_level(engine.world, engine.planner))):
                await _past_the_workers(place.port)

    def _rejected(self) -> set[tuple[str, ...]]:
        """(kind, name) of the elements that Envoy rejects."""
        return {(one["kind"], one["name"]) for one in self.gateway.xds.status()["rejected"]}

    def _known_rejections(self) -> set[tuple[str, ...]]:
        """The same, as the compiler knows it."""
        world = self.started.service.engine.world
        found = (world.cache.shown(key) for key in world.cache.all(REJECTION))
        return {tuple(resource.fq_name) for resource in found if resource is not None}

    @property
    def problems(self) -> list[tuple[str, str, str]]:
        """(kind, name, reason) of what people must fix."""
        view = self.started.service.engine
        return [(p.kind, p.name, p.reason) for p in view.states.problems(view.world.held.values())]

    async def get(self, path: str, host: str = "gateway.test", **headers: str) -> httpx2.Response:
        """Ask Envoy in plain HTTP; in names of headers ``_`` stands for ``-``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.get(f"http://127.0.0.1:{self.port}{path}", headers={"host": host, **named})

    async def service(self, path: str, host: str = "gateway.test", **headers: str) -> str:
        """Who answers; ``status 404`` if nobody does."""
        answer = await self.get(path, host, **headers)
        return str(answer.json()["service"]) if answer.status_code == 200 else f"status {answer.status_code}"

    def _read(self, manifests: Iterable[Manifest | list[Manifest]]) -> tuple[list[Loaded], Any]:
        path = self._folder / "applied.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": _flat(manifests)}))
        return read_input([str(path)], CONFIGURATION)


async def _past_the_workers(port: int) -> None:
    """Return when Envoy's one worker goes by what its main thread has answered: it does everything in order, so once it
    has closed a new connection. Nothing is sent on that, so that nobody logs or counts it."""
    while True:
        try:
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                with anyio.move_on_after(_MUTE_SECONDS), suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await stream.send_eof()
                    await stream.receive()
                return
        except OSError:
            # A new listener is answered for a moment before it takes connections.
            await anyio.sleep(0.005)


@asynccontextmanager
async def living() -> AsyncIterator[Chain]:
    """Everything, ready; ended with the block."""
    async with (
        running(CONFIGURATION) as started,
        running_gateway(started.etcd, CONFIGURATION.etcd.path) as gateway,
        # A connection that stands goes by what was in force when it was made, until it is drained.
        httpx2.AsyncClient(
            trust_env=False, timeout=PATIENCE, limits=httpx2.Limits(max_keepalive_connections=0)
        ) as client,
    ):
        yield Chain(started, gateway, client)


@asynccontextmanager
async def using(chain: Chain, folder: Path) -> AsyncIterator[GatewaySystem]:
    """The chain for one test, emptied after it. ``folder``: where the test may write."""
    with ExitStack() as stack:
        ports = stack.enter_context(held_port()), stack.enter_context(held_port()), stack.enter_context(held_port())
        live = GatewaySystem(chain, ports, folder)
        yield live
        await live.empty()


def _flat(manifests: Iterable[Manifest | list[Manifest]]) -> list[Manifest]:
    flat: list[Manifest] = []
    for one in manifests:
        flat += one if isinstance(one, list) else [one]
    return flat


def _identity(manifest: Manifest) -> tuple[str, str]:
    return manifest["kind"], manifest["metadata"]["name"]
