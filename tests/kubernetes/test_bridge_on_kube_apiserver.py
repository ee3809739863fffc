"""Emissary manifests of a real cluster become Envoy's elements, and follow every change, without a file."""

from __future__ import annotations

import urllib.error
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
import pytest
import yaml

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.loading.kubeconfig import read_kubeconfig
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import mirror_service
from tests.kubernetes.kube_apiserver import KubeApiserver
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import until, until_true

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
BRIDGE = "bridge-token"
MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/default/mappings"


@pytest.fixture
async def world(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    async with counted_world(etcd_store, loaded, monkeypatch) as made, made.serving():
        yield made


@asynccontextmanager
async def _bridge(cluster: KubeApiserver, world: LiveSystem, process: str = "one") -> AsyncIterator[Bridge]:
    client = Cluster(lambda: read_kubeconfig(cluster.kubeconfig(BRIDGE)))
    settings = Settings(world.path, world.path, process, tend_seconds=0.05, not_served_seconds=1.0)
    kinds = mirrored_kinds(world.loaded.schema)
    try:
        async with (
            mirror_service(Endpoint(world.url)) as writer,
            running(Bridge(client, world.store, writer, kinds, settings)) as bridge,
        ):
            yield bridge
    finally:
        await client.aclose()


def _grant(cluster: KubeApiserver) -> None:
    """Give the user of the bridge the rights that ship, and no others."""
    for manifest in yaml.safe_load_all((ROOT / "config/kubernetes/rbac-ambassador.yml").read_text()):
        if manifest["kind"] == "ClusterRole":
            cluster.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", manifest)
        elif manifest["kind"] == "ClusterRoleBinding":
            group = {"kind": "Group", "name": "bridges", "apiGroup": "rbac.authorization.k8s.io"}
            path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
            cluster.ask("POST", path, {**manifest, "subjects": [group]})


def _mapping(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": name},
        "spec": {"hostname": "*", "prefix": f"/{name}/", "service": "quote:8080", **spec},
    }


async def _elements(world: LiveSystem, kind: str) -> dict[str, dict[str, Any]]:
    prefix = f"/{world.path}/{kind}/"
    found = await world.store.range(prefix, prefix_end(prefix))
    documents = [msgspec.json.decode(item.value) for item in found.items]
    return {":".join(one["fq_name"]): one for one in documents}


async def _ask(cluster: KubeApiserver, method: str, path: str, body: Any = None) -> Any:
    return await anyio.to_thread.run_sync(cluster.ask, method, path, body)


async def test_a_cluster_s_mappings_become_routes_and_follow(cluster: KubeApiserver, world: LiveSystem) -> None:
    _grant(cluster)
    listener = {"port": 8080, "protocol": "HTTP", "securityModel": "XFP", "hostBinding": {"namespace": {"from": "ALL"}}}
    await _ask(
        cluster,
        "POST",
        MAPPINGS.replace("mappings", "listeners"),
        {
            "apiVersion": "getambassador.io/v3alpha1",
            "kind": "Listener",
            "metadata": {"name": "http"},
            "spec": listener,
        },
    )
    await _ask(cluster, "POST", MAPPINGS, _mapping("quote"))

    async def shows(text: str) -> bool:
        return any(
            text in msgspec.json.encode(one).decode() for one in (await _elements(world, "envoy_route")).values()
        )

    async def shows_no(text: str) -> bool:
        return not await shows(text)

    async with _bridge(cluster, world) as bridge, world.compiling():
        await until(lambda: bridge.status()["converged"])
        assert bridge.status()["attention"] == []
        await until_true(lambda: shows("/quote/"))
        await _ask(cluster, "PUT", f"{MAPPINGS}/quote", _changed(await _ask(cluster, "GET", f"{MAPPINGS}/quote")))
        await until_true(lambda: shows("/changed/"))
        await _ask(cluster, "DELETE", f"{MAPPINGS}/quote")
        await until_true(lambda: shows_no("/changed/"))
        refused = [task.watcher.state for task in bridge.tasks.values() if task.watcher.counters["denied"]]
        assert refused == []


async def test_status_of_ours_is_written_and_taken_back_over_a_restart(
    cluster: KubeApiserver, world: LiveSystem
) -> None:
    _grant(cluster)
    await _ask(cluster, "POST", MAPPINGS, _mapping("quote"))
    path = f"{MAPPINGS}/quote"

    async def is_error() -> bool:
        return bool((await _ask(cluster, "GET", path)).get("status", {}).get("state") == "Error")

    async def is_cleared() -> bool:
        return not (await _ask(cluster, "GET", path)).get("status")

    async def claim(status: dict[str, Any]) -> None:
        uid = (await _elements(world, "mapping"))["default:quote"]["uuid"]
        claims = {"installation": world.path, "items": sorted(status)}
        data = {"uuid": uid, "status": {"state": None, **status}, "status_claims": claims}
        await world.sync(("UPDATE_STATUS", "mapping", data))

    async with _bridge(cluster, world) as bridge:
        await until(lambda: bridge.status()["converged"])
        await claim({"state": "Error"})
        await until_true(is_error)
    await claim({})
    async with _bridge(cluster, world, "two") as bridge:
        await until_true(is_cleared)
        assert bridge.reporter.rejected == {}


def _changed(mapping: dict[str, Any]) -> dict[str, Any]:
    return {**mapping, "spec": {**mapping["spec"], "prefix": "/changed/"}}


async def test_a_server_that_restarts_loses_nothing_and_an_empty_one_deletes_nothing(
    cluster: KubeApiserver, world: LiveSystem
) -> None:
    _grant(cluster)
    for number in range(3):
        await _ask(cluster, "POST", MAPPINGS, _mapping(f"m{number}"))
    async with _bridge(cluster, world) as bridge:
        await until(lambda: bridge.status()["converged"])
        assert len(await _elements(world, "mapping")) == 3
        await anyio.to_thread.run_sync(cluster.stop)
        await until(lambda: bridge.status()["kinds"]["mapping"]["phase"] == "disconnected")
        await anyio.to_thread.run_sync(cluster.start)
        await _ask(cluster, "DELETE", f"{MAPPINGS}/m0")
        await _ask(cluster, "POST", MAPPINGS, _mapping("m3"))

        async def follows() -> bool:
            return set(await _elements(world, "mapping")) == {"default:m1", "default:m2", "default:m3"}

        await until_true(follows)
        await anyio.to_thread.run_sync(cluster.emptied)
        await anyio.to_thread.run_sync(_reinstalled, cluster, world.loaded)
        await until(lambda: bridge.status()["kinds"]["mapping"]["withheld_deletes"] == 3)
        assert await follows()
        assert "nothing is written: this is cluster" in bridge.status()["attention"][0]


def _reinstalled(cluster: KubeApiserver, loaded: Loaded) -> None:
    from tests.kubernetes.conftest import install

    install(cluster, loaded)
    _grant(cluster)


async def test_a_second_start_writes_nothing(cluster: KubeApiserver, world: LiveSystem) -> None:
    _grant(cluster)
    await _ask(cluster, "POST", MAPPINGS, _mapping("quote"))
    async with _bridge(cluster, world) as bridge:
        await until(lambda: bridge.status()["converged"])
        assert bridge.copy_writer.counters["written"] > 0
    async with _bridge(cluster, world, "two") as bridge:
        await until(lambda: bridge.status()["converged"] and bridge.election.fence() is not None)
        assert not bridge.copy_writer.counters


async def test_without_rights_nothing_is_synced_and_the_reason_is_shown(
    cluster: KubeApiserver, world: LiveSystem
) -> None:
    async with _bridge(cluster, world) as bridge:
        await until(lambda: bridge.status()["kinds"].get("mapping", {}).get("phase") == "denied")
        ready, reasons = bridge.ready()
        assert not ready
        assert any("forbidden" in reason for reason in reasons)
    with pytest.raises(urllib.error.HTTPError) as refused:
        await anyio.to_thread.run_sync(cluster.ask, "GET", MAPPINGS, None, BRIDGE)
    refused.value.close()
