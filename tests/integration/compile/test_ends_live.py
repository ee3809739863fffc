"""An app ends in order between a real etcd and a real API server over HTTP, over a restart of the compiler."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.model.manifest import manifest_uuid
from intentc.plugins import Loaded
from intentc.service.service import CompilerService
from intentc.testing import FakeCluster
from tests.support.app_system import APP, LOADED, PHASES
from tests.support.live_system import LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

UUID = manifest_uuid("app", ("shop", "web"))


@pytest.fixture
def loaded() -> Loaded:
    """The toy compiler in place of the shipped one."""
    return LOADED


class Bridge:
    """Carries out what a compiler made, with a server of its own on the same etcd, until nothing is left to do."""

    def __init__(self, world: LiveSystem, cluster: FakeCluster) -> None:
        self._world = world
        self._cluster = cluster
        self._server = ApiServer(world.store, LOADED.schema, path=world.path)

    async def sync(self, entries: list[dict[str, Any]]) -> None:
        _, revision = await self._server.sync(entries)
        self._world.revision = max(self._world.revision, revision)

    async def work(self, service: CompilerService, steps: int = 1000) -> None:
        place: Any = SimpleNamespace(server=self, engine=service.engine, installation=self._world.path)
        await self._world.settle(service)
        while steps and await self._cluster.step(place):
            await self._world.settle(service)
            steps -= 1


async def stored(world: LiveSystem, kind: str) -> list[dict[str, Any]]:
    found = await world.store.range(f"/{world.path}/{kind}/", f"/{world.path}/{kind}0")
    return [msgspec.json.decode(item.value) for item in found.items]


async def test_an_app_is_made_and_ends_in_order(world: LiveSystem) -> None:
    cluster = FakeCluster()
    bridge = Bridge(world, cluster)
    async with world.compiling() as service:
        await world.sync(("CREATE", "app", {"fq_name": ["shop", "web"], **APP}))
        await bridge.work(service)
        assert sorted(place.split()[0] for place in cluster.objects) == sorted(PHASES)
        (app,) = await stored(world, "app")
        assert app["metadata"]["finalizers"] == ["example.com/app"]
        assert {one["type"]: one["status"] for one in app["status"]["conditions"]} == {
            "Migrated": "True",
            "Ready": "True",
        }
        cluster.log.clear()
        await world.delete("app", UUID)
        await bridge.work(service, 5)
    assert 0 < len(cluster.objects) < 4
    (app,) = await stored(world, "app")
    assert app["metadata"]["deletionTimestamp"]
    async with world.compiling() as service:
        await bridge.work(service)
    assert cluster.log == [
        f"{verb} {kind} shop/web"
        for kind in ("Service", "Deployment", "Job", "ConfigMap")
        for verb in ("delete", "gone")
    ]
    assert await stored(world, "app") == await stored(world, "manifest") == await stored(world, "observed") == []
