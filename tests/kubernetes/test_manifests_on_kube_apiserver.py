"""What a compiler makes is in a real cluster, in order, with the rights that the bridge needs and no others."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
import pytest

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.cli.commands.crds import definitions
from intentc.loading.kubeconfig import read_kubeconfig
from intentc.model.bridge_keys import synced_prefix
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete, prefix_end
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import mirror_service
from tests.kubernetes.conftest import BRIDGE
from tests.kubernetes.kube_apiserver import KubeApiserver, running_kube_apiserver
from tests.support.app.compiler import FINALIZER
from tests.support.app_system import APP, LOADED
from tests.support.kube.rights import rights, rules_of
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import pauses, until, until_true

pytestmark = pytest.mark.anyio
OWNERS = "/apis/example.com/v1/namespaces/default/apps"
CONFIG_MAP = "/api/v1/namespaces/default/configmaps/web"
JOB = "/apis/batch/v1/namespaces/default/jobs/web"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"
SERVICE = "/api/v1/namespaces/default/services/web"
CHILDREN = (CONFIG_MAP, JOB, DEPLOYMENT, SERVICE)


@pytest.fixture
def kube() -> Iterator[KubeApiserver]:
    """A cluster with the kind of apps, and the rights of the bridge for a user of its own."""
    with running_kube_apiserver({BRIDGE: ("bridge", "bridges")}) as server:
        kinds = mirrored_kinds(LOADED.schema)
        for definition in definitions(kinds):
            server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        server.wait_for(OWNERS, pauses())
        base = "/apis/rbac.authorization.k8s.io/v1"
        rules = rules_of(rights(kinds, LOADED.makes, LOADED.kinds_in_order))
        server.ask("POST", f"{base}/clusterroles", {"metadata": {"name": "bridge"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "bridge"}
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "bridges"}
        binding = {"metadata": {"name": "bridge"}, "roleRef": role, "subjects": [group]}
        server.ask("POST", f"{base}/clusterrolebindings", binding)
        yield server


@pytest.fixture
async def world(etcd_store: EtcdStore, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    async with counted_world(etcd_store, LOADED, monkeypatch) as made, made.serving():
        yield made


class _Logged(Cluster):
    """Keeps the writes that the cluster accepted."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.writes: list[str] = []

    async def send(self, method: str, path: str, *given: Any, **options: Any) -> bytes:
        answer = await super().send(method, path, *given, **options)
        if method != "GET":
            self.writes.append(f"{method} {path}")
        return answer


class _System:
    def __init__(self, kube: KubeApiserver, world: LiveSystem) -> None:
        self.kube = kube
        self.world = world
        self.writes: list[str] = []

    @asynccontextmanager
    async def bridging(self, process: str) -> AsyncIterator[Bridge]:
        client = _Logged(lambda: read_kubeconfig(self.kube.kubeconfig(BRIDGE)))
        self.writes = client.writes
        path = self.world.path
        settings = Settings(
            path,
            path,
            process,
            finalizers=LOADED.finalizers,
            tend_seconds=0.05,
            not_served_seconds=1.0,
            makes=LOADED.makes,
        )
        kinds, schema = mirrored_kinds(LOADED.schema), LOADED.schema
        try:
            async with (
                mirror_service(Endpoint(self.world.url), LOADED.finalizers) as writer,
                running(Bridge(client, self.world.store, writer, kinds, settings, schema=schema)) as bridge,
            ):
                yield bridge
        finally:
            await client.aclose()

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        return await anyio.to_thread.run_sync(self.kube.ask, method, path, body)

    async def get(self, path: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self.ask("GET", path)
        except urllib.error.HTTPError as error:
            error.close()
            assert error.code == 404, error
            return None
        return found

    async def until_there(self, *paths: str) -> None:
        async def is_there() -> bool:
            return [path for path in CHILDREN if await self.get(path) is not None] == list(paths)

        await until_true(is_there)

    async def set_status(self, path: str, status: Mapping[str, Any]) -> None:
        """Play a controller of the cluster."""
        found = await self.get(path)
        assert found is not None
        await self.ask("PUT", f"{path}/status", {**found, "status": {**found.get("status", {}), **status}})

    async def change(self, path: str, manager: str, **spec: Any) -> None:
        """Write an object as another manager."""
        found = await self.get(path)
        assert found is not None
        await self.ask("PUT", f"{path}?fieldManager={manager}", {**found, "spec": {**found["spec"], **spec}})

    async def versions(self) -> dict[str, str]:
        """The resourceVersions of owner and children: equal means that nobody wrote."""
        found = {path: await self.get(path) for path in (*CHILDREN, f"{OWNERS}/web")}
        return {path: one["metadata"]["resourceVersion"] for path, one in found.items() if one is not None}

    async def observed(self, name: str) -> dict[str, Any]:
        stored = (await self.world.stored()).get("observed", {}).values()
        return next((one for one in stored if one["fq_name"][-1] == name), {})

    async def empty(self) -> None:
        for prefix in (
            f"/{self.world.path}/",
            synced_prefix(self.world.path),
            f"/intentc/apiserver/{self.world.path}/",
        ):
            for item in (await self.world.store.range(prefix, prefix_end(prefix))).items:
                await self.world.store.transaction([], [Delete(item.key)])


async def _run(system: _System) -> None:
    """Until the app runs: the test plays the controllers of Deployments and Jobs."""
    metadata = {"name": "web", "namespace": "default"}
    await system.ask("POST", OWNERS, {"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata, "spec": APP})
    await system.until_there(CONFIG_MAP, JOB, SERVICE)
    owner = await system.get(f"{OWNERS}/web")
    assert owner is not None
    assert owner["metadata"]["finalizers"] == [FINALIZER]
    await system.set_status(JOB, {"conditions": [{"type": "Complete", "status": "True"}]})
    await system.until_there(*CHILDREN)
    counts = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    await system.set_status(DEPLOYMENT, {**counts, "conditions": [{"type": "Available", "status": "True"}]})
    await system.set_status(SERVICE, {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})

    async def is_ready() -> bool:
        found = await system.get(f"{OWNERS}/web")
        status = (found or {}).get("status", {})
        conditions = {one["type"]: one["status"] for one in status.get("conditions", ())}
        return conditions == {"Migrated": "True", "Ready": "True"} and status.get("address") == "192.0.2.1"

    await until_true(is_ready)


async def test_an_app_runs_is_repaired_and_ends_in_order(kube: KubeApiserver, world: LiveSystem) -> None:
    system = _System(kube, world)
    async with world.compiling() as service:
        async with system.bridging("one") as bridge:
            await _run(system)
            await until(lambda: bridge.status()["converged"])
            assert bridge.status()["attention"] == []
            # Drift: what nobody owns now is repaired, and what others own stays.
            await system.ask("DELETE", CONFIG_MAP)
            await system.until_there(*CHILDREN)
            await system.change(DEPLOYMENT, "people", minReadySeconds=7)
            await system.change(DEPLOYMENT, "autoscaler", replicas=9)

            async def is_reported() -> bool:
                return 'conflict with "autoscaler"' in (await system.observed("deployment.apps--web")).get(
                    "rejected", ""
                )

            await until_true(is_reported)
            found = await system.get(DEPLOYMENT)
            assert found is not None
            assert (found["spec"]["replicas"], found["spec"]["minReadySeconds"]) == (9, 7)
            events = await system.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
            (event,) = events["items"]
            assert event["regarding"]["kind"] == "App"
            assert "autoscaler" in event["note"]
            app = await system.get(f"{OWNERS}/web")
            assert app is not None
            await system.ask("PUT", f"{OWNERS}/web", {**app, "spec": {**app["spec"], "replicas": 9}})

            async def is_resolved() -> bool:
                found = await system.get(f"{OWNERS}/web")
                assert found is not None
                return all(
                    one["observedGeneration"] == found["metadata"]["generation"] and not one.get("message")
                    for one in found["status"]["conditions"]
                )

            await until_true(is_resolved)
            assert not (await system.observed("deployment.apps--web")).get("rejected")
            await world.settle(service)
            await until(lambda: bridge.status()["converged"] and bridge.status()["attention"] == [])
        versions, values = await system.versions(), await world.values()
        async with system.bridging("two") as bridge:
            await until(lambda: bridge.status()["converged"] and bridge.election.fence() is not None)
            assert (await system.versions(), await world.values(), system.writes) == (versions, values, [])
            await system.ask("DELETE", f"{OWNERS}/web")
            await system.until_there()

            async def is_gone() -> bool:
                return await system.get(f"{OWNERS}/web") is None

            await until_true(is_gone)
            deleted = [one.removeprefix("DELETE ") for one in system.writes if one.startswith("DELETE ")]
            assert deleted == list(reversed(CHILDREN))
            assert system.writes[-1] == f"PATCH {OWNERS}/web"
            await until(lambda: bridge.status()["converged"])
            assert not {"app", "manifest", "observed"} & {
                kind for kind, found in (await world.stored()).items() if found
            }


async def test_a_name_that_is_taken_and_a_store_that_is_lost(kube: KubeApiserver, world: LiveSystem) -> None:
    system = _System(kube, world)
    theirs = await system.ask(
        "POST", CONFIG_MAP.removesuffix("/web"), {"metadata": {"name": "web"}, "data": {"a": "b"}}
    )
    async with world.compiling(), system.bridging("one"):
        metadata = {"name": "web", "namespace": "default"}
        app = {"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata, "spec": APP}
        await system.ask("POST", OWNERS, app)

        async def is_taken() -> bool:
            return bool((await system.observed("configmap--web")).get("taken"))

        await until_true(is_taken)
        assert await system.get(CONFIG_MAP) == theirs
        await system.ask("DELETE", f"{OWNERS}/web")
        await system.until_there(CONFIG_MAP)
        assert await system.get(CONFIG_MAP) == theirs
        await system.ask("DELETE", CONFIG_MAP)

        async def is_gone() -> bool:
            return await system.get(f"{OWNERS}/web") is None

        await until_true(is_gone)
        await _run(system)
        await until(lambda: bool(system.writes))
    versions = await system.versions()
    specs = {path: json.dumps((await system.get(path) or {}).get("spec")) for path in CHILDREN}
    await system.empty()
    async with system.bridging("two") as bridge:
        await until(lambda: bridge.status()["converged"])
        async with world.compiling() as service:
            await world.settle(service)
            await until(lambda: bridge.status()["converged"])
    assert specs == {path: json.dumps((await system.get(path) or {}).get("spec")) for path in CHILDREN}
    assert {path: one for path, one in (await system.versions()).items() if path != f"{OWNERS}/web"} == {
        path: one for path, one in versions.items() if path != f"{OWNERS}/web"
    }
    assert not [one for one in system.writes if not one.endswith("/status")]
