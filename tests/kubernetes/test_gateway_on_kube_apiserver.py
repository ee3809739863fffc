"""The sample of the gateway compiler in a real cluster: applied, made, reported, and deleted in order, with kubectl.

The cluster has no controllers: the test answers for them (``answer``).
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import yaml

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import manifest_kind, mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.loading.kubeconfig import read_kubeconfig
from intentc.model import Schema
from intentc.plugins import Loaded, installed
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import mirror_service
from tests.kubernetes.kube_apiserver import KubeApiserver, running_kube_apiserver
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import pauses, until, until_true

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample" / "gateway"
BRIDGE = "bridge-token"
TWO_FAMILIES = ("--feature-gates=IPv6DualStack=true", "--service-cluster-ip-range=10.0.0.0/16,fd00::/108")
"""As every cluster has them since 1.23."""
APPS = "/apis/apps/v1/namespaces/sample"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """The gateway compiler."""
    return installed(Configuration(intentc=Intentc(compilers=("gateway",))))


@pytest.fixture
def cluster(loaded: Loaded) -> Iterator[KubeApiserver]:
    """A cluster with the compiler's kinds, and the rights that ship for the user of the bridge."""
    with running_kube_apiserver({BRIDGE: ("bridge", "bridges")}, TWO_FAMILIES) as server:
        for definition in definitions(loaded.schema):
            server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for definition in definitions(loaded.schema):
            spec = definition["spec"]
            names, version = spec["names"], spec["versions"][0]["name"]
            server.wait_for(f"/apis/{spec['group']}/{version}/{names['plural']}", pauses())
        for manifest in yaml.safe_load_all((ROOT / "config/kubernetes/rbac-gateway.yml").read_text()):
            if manifest["kind"] == "ClusterRole":
                server.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", manifest)
            elif manifest["kind"] == "ClusterRoleBinding":
                group = {"kind": "Group", "name": "bridges", "apiGroup": "rbac.authorization.k8s.io"}
                path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
                server.ask("POST", path, {**manifest, "subjects": [group]})
        for namespace in ("sample", "contour-operator"):
            server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        yield server


def definitions(schema: Schema) -> list[dict[str, Any]]:
    """CRDs of the kinds that no cluster has, with every field; that of ContourConfiguration is Contour's own."""
    found = [_definition("projectcontour.io", "v1alpha1", "ContourConfiguration", "contourconfigurations")]
    for kind in mirrored_kinds(schema):
        group, version = (kind.manifests.preferred.rpartition("/")[0], kind.manifests.preferred.rpartition("/")[2])
        if group.endswith(("projectcontour.io", "gateway.networking.k8s.io", "networking.x-k8s.io")):
            plural = kind.manifests.plural or kind.plural.replace("_", "")
            scope = "Cluster" if manifest_kind(kind).name == "GatewayClass" else "Namespaced"
            found.append(_definition(group, version, manifest_kind(kind).name, plural, scope))
    return found


def _definition(group: str, version: str, kind: str, plural: str, scope: str = "Namespaced") -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    # The group of the Gateway API is protected: the annotation says who approved its definitions.
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api"}
    return {
        "metadata": {"name": f"{plural}.{group}", "annotations": approved},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
            "versions": [
                {"name": version, "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
            ],
        },
    }


@pytest.fixture
async def world(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    async with counted_world(etcd_store, loaded, monkeypatch) as made, made.serving():
        yield made


@asynccontextmanager
async def bridging(cluster: KubeApiserver, world: LiveSystem, process: str = "one") -> AsyncIterator[Bridge]:
    client = Cluster(lambda: read_kubeconfig(cluster.kubeconfig(BRIDGE)))
    schema = world.loaded.schema
    settings = Settings(
        world.path,
        world.path,
        process,
        finalizers=world.loaded.finalizers,
        makes=world.loaded.makes,
        tend_seconds=0.05,
        not_served_seconds=1.0,
    )
    try:
        async with (
            mirror_service(Endpoint(world.url)) as writer,
            running(Bridge(client, world.store, writer, mirrored_kinds(schema), settings, schema=schema)) as bridge,
        ):
            yield bridge
    finally:
        await client.aclose()


async def kubectl(cluster: KubeApiserver, *words: str) -> str:
    """Run kubectl as the administrator; its output. Raises ``CalledProcessError``."""
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig())}
    call = partial(subprocess.run, ["kubectl", *words], env=environment, check=True, capture_output=True, text=True)
    done = await anyio.to_thread.run_sync(call)
    return str(done.stdout)


async def ask(cluster: KubeApiserver, method: str, path: str, body: Any = None, content: str = MERGE) -> Any:
    return await anyio.to_thread.run_sync(
        partial(cluster.ask, method, path, body, content=content if method == "PATCH" else "application/json")
    )


async def exists(cluster: KubeApiserver, path: str) -> bool:
    try:
        await ask(cluster, "GET", path)
    except urllib.error.HTTPError as error:
        error.close()
        return False
    return True


async def answer(cluster: KubeApiserver, job: str) -> None:
    """What a cluster's controllers do for the Gateway ``web``: its Job makes the Secrets and completes, its workloads
    become available, its Service gets an address."""
    paths = [f"/apis/batch/v1/namespaces/sample/jobs/{job}", f"{APPS}/deployments/contour-web"]
    paths += [f"{APPS}/deployments/envoy-web", "/api/v1/namespaces/sample/services/envoy-web"]
    for path in paths:
        await until_true(partial(exists, cluster, path))
    for name in ("contourcert-web", "envoycert-web"):
        secret = {"metadata": {"name": name, "labels": {"app": "contour"}}, "data": {"tls.crt": "eA=="}}
        await ask(cluster, "POST", "/api/v1/namespaces/sample/secrets", secret)
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
    available = {"conditions": [{"type": "Available", "status": "True"}], **counts}
    complete = {"conditions": [{"type": "Complete", "status": "True"}]}
    balanced = {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}
    for path, status in zip(paths, (complete, available, available, balanced), strict=True):
        await ask(cluster, "PATCH", f"{path}/status", {"status": status})


def conditions(owner: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in owner["status"]["conditions"]}


async def test_the_sample_runs_is_reported_and_is_deleted_in_order(cluster: KubeApiserver, world: LiveSystem) -> None:
    job = "contour-certgen-v1.33.7-web"
    async with bridging(cluster, world) as bridge, world.compiling():
        await kubectl(cluster, "apply", "-f", str(SAMPLE))
        await answer(cluster, job)
        await kubectl(cluster, "wait", "--for=condition=Programmed", "gateway/web", "-n", "sample", "--timeout=60s")
        gateway = json.loads(await kubectl(cluster, "get", "gateway", "web", "-n", "sample", "-o", "json"))
        assert conditions(gateway)["Accepted"] == ("True", "Accepted")
        assert gateway["status"]["addresses"] == [{"type": "IPAddress", "value": "192.0.2.7"}]
        assert all(one["observedGeneration"] == 1 for one in gateway["status"]["conditions"])
        found = json.loads(await kubectl(cluster, "get", "gatewayclass", "contour", "-o", "json"))
        assert conditions(found)["Accepted"] == ("True", "Accepted")
        await until(lambda: bridge.status()["converged"])
        assert bridge.status()["attention"] == []
        secret = await ask(cluster, "GET", "/api/v1/namespaces/sample/secrets/envoycert-web")
        assert secret["metadata"]["labels"]["projectcontour.io/owning-gateway-name"] == "web"
        uid = (await ask(cluster, "GET", "/api/v1/namespaces/sample/services/envoy-web"))["metadata"]["uid"]
    async with bridging(cluster, world, "two") as bridge, world.compiling():
        await until(lambda: bridge.status()["converged"] and bridge.election.fence() is not None)
        assert bridge.reconciler is not None
        assert not +bridge.reconciler.counters
        after = await ask(cluster, "GET", "/api/v1/namespaces/sample/services/envoy-web")
        assert after["metadata"]["uid"] == uid
        assert len(after["spec"]["ports"]) == 2
        await kubectl(cluster, "delete", "gateway", "web", "-n", "sample", "--timeout=60s")
        left = json.loads(
            await kubectl(
                cluster,
                "get",
                "services,deployments,daemonsets,jobs,secrets,serviceaccounts,roles,rolebindings,contourconfigurations",
                "-n",
                "sample",
                "-o",
                "json",
            )
        )["items"]
        assert [f"{one['kind']} {one['metadata']['name']}" for one in left] == []
        assert not await exists(cluster, "/apis/rbac.authorization.k8s.io/v1/clusterroles/contour-sample-web")
