"""Problems of Ingresses are Events that kubectl shows, with the rights that ship, and each is written once."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Iterator
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
from intentc.cli.commands.crds import definitions
from intentc.loading import load_schema
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.loading.kubeconfig import read_kubeconfig
from intentc.plugins import Loaded, installed
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import mirror_service
from tests.kubernetes.kube_apiserver import KubeApiserver, running_kube_apiserver
from tests.support.appgw.manifests import gateway, ingress, rule, service
from tests.support.kubectl import programs
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import until, until_true

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
BRIDGE = "bridge-token"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses"
EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
TLS = [{"hosts": ["shop.test"], "secretName": "account"}]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return installed(Configuration(intentc=Intentc(compilers=("appgw",))))


@pytest.fixture
def cluster() -> Iterator[KubeApiserver]:
    """A cluster with the kinds of the compiler, and the rights that ship for a user of its own."""
    with running_kube_apiserver({BRIDGE: ("bridge", "bridges")}) as server:
        for definition in definitions(load_schema("appgw")):
            server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for manifest in yaml.safe_load_all((ROOT / "config/kubernetes/rbac-appgw.yml").read_text()):
            if manifest["kind"] == "ClusterRole":
                server.ask("POST", f"{RBAC}/clusterroles", manifest)
            elif manifest["kind"] == "ClusterRoleBinding":
                group = {"kind": "Group", "name": "bridges", "apiGroup": "rbac.authorization.k8s.io"}
                server.ask("POST", f"{RBAC}/clusterrolebindings", {**manifest, "subjects": [group]})
        server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
        yield server


@pytest.fixture
async def world(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    async with counted_world(etcd_store, loaded, monkeypatch) as made, made.serving():
        await made.sync(("CREATE", "appgw_gateway", gateway()["data"]))
        yield made


@asynccontextmanager
async def _bridge(cluster: KubeApiserver, world: LiveSystem, process: str) -> AsyncIterator[Bridge]:
    client = Cluster(lambda: read_kubeconfig(cluster.kubeconfig(BRIDGE)))
    settings = Settings(world.path, world.path, process, tend_seconds=0.05, not_served_seconds=1.0)
    try:
        async with (
            mirror_service(Endpoint(world.url)) as writer,
            running(Bridge(client, world.store, writer, mirrored_kinds(world.loaded.schema), settings)) as bridge,
        ):
            yield bridge
    finally:
        await client.aclose()


async def _ask(cluster: KubeApiserver, method: str, path: str, body: Any = None) -> Any:
    return await anyio.to_thread.run_sync(cluster.ask, method, path, body)


async def _events(cluster: KubeApiserver) -> dict[str, dict[str, Any]]:
    """Name → Event."""
    return {one["metadata"]["name"]: one for one in (await _ask(cluster, "GET", EVENTS))["items"]}


def _kubectl(cluster: KubeApiserver, *arguments: str) -> str:
    command = [programs()[0], "--kubeconfig", str(cluster.kubeconfig()), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def test_an_ingress_shows_its_problems_as_events_once(cluster: KubeApiserver, world: LiveSystem) -> None:
    await _ask(cluster, "POST", "/api/v1/namespaces/shop/services", service("cart"))
    await _ask(cluster, "POST", INGRESSES, ingress("web", rule("shop.test", ("/", "Prefix", "cart")), tls=TLS))

    async def is_reported() -> bool:
        return {one["reason"] for one in (await _events(cluster)).values()} == {"SecretNotFound", "EndpointsEmpty"}

    async with _bridge(cluster, world, "one") as bridge, world.compiling() as compiler:
        await until_true(is_reported)
        found = await _events(cluster)
        stored = (await _ask(cluster, "GET", f"{INGRESSES}/web"))["metadata"]
        for event in found.values():
            assert event["type"] == "Warning"
            about = event["regarding"]
            assert (about["kind"], about["name"], about["uid"]) == ("Ingress", "web", stored["uid"])
        problems = {one.reason: one.message for one in compiler.engine.states.problems()}
        assert {one["reason"]: one["note"] for one in found.values()} == problems
        if programs():
            described = await anyio.to_thread.run_sync(_kubectl, cluster, "describe", "ingress", "web", "-n", "shop")
            assert "SecretNotFound" in described.partition("Events:")[2]
        await until(lambda: bridge.status()["converged"])
    async with _bridge(cluster, world, "two") as bridge, world.compiling():
        await until(lambda: bridge.problem_events.reported == len(found))
        after = await _events(cluster)
    assert msgspec.json.encode(after) == msgspec.json.encode(found), "a restart writes no Event again"
