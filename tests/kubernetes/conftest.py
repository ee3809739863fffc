"""A real kube-apiserver for the tests of this directory; without one they are skipped (``make kubernetes``)."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from intentc.bridges.kubernetes.rest_mapping import manifest_kind, mirrored_kinds
from intentc.cli.commands.crds import definitions
from intentc.loading import load_schema
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.plugins import Loaded, installed
from intentc.watch.memory import MemoryStore
from tests.integration.conftest import etcd, etcd_store
from tests.kubernetes.kube_apiserver import ADMIN, KubeApiserver, running_kube_apiserver
from tests.support.api_server import served
from tests.support.waiting import PATIENCE, pauses

__all__ = ["etcd", "etcd_store"]

BRIDGE = "bridge-token"
GROUP = "getambassador.io"


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """The Ambassador compiler."""
    return installed(Configuration(intentc=Intentc(compilers=("ambassador",))))


@pytest.fixture
def cluster(loaded: Loaded) -> Iterator[KubeApiserver]:
    """A cluster with Ambassador's kinds, and the rights of the bridge for a user of its own."""
    with running_kube_apiserver({BRIDGE: ("bridge", "bridges")}) as server:
        install(server, loaded)
        yield server


def install(server: KubeApiserver, loaded: Loaded) -> None:
    """Install the CRDs of the compiler's kinds, and wait until they are served."""
    for kind in mirrored_kinds(loaded.schema):
        if kind.manifests.group != GROUP:
            continue
        name, plural = manifest_kind(kind).name, kind.plural.replace("_", "")
        version = {
            "name": "v3alpha1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
        server.ask(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {
                "metadata": {"name": f"{plural}.{GROUP}"},
                "spec": {
                    "group": GROUP,
                    "scope": "Namespaced",
                    "names": {"plural": plural, "kind": name, "listKind": f"{name}List"},
                    "versions": [version],
                },
            },
        )
        server.wait_for(f"/apis/{GROUP}/v3alpha1/{plural}", pauses())


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[KubeApiserver]:
    """A cluster with the definitions that ``intentc crds`` makes of Ambassador's kinds."""
    with running_kube_apiserver() as server:
        for definition in definitions(load_schema("ambassador")):
            server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        server.wait_for(f"/apis/{GROUP}/v3alpha1/mappings", pauses())
        yield server


@pytest.fixture
def cluster_client(running_cluster: KubeApiserver) -> httpx2.AsyncClient:
    """A client of the cluster."""
    trust = ssl.create_default_context(cafile=str(running_cluster.authority))
    headers = {"Authorization": f"Bearer {ADMIN}"}
    return httpx2.AsyncClient(base_url=running_cluster.url, verify=trust, headers=headers, timeout=PATIENCE)


@pytest.fixture(params=["intentc", "kube-apiserver"])
async def kubernetes(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, httpx2.AsyncClient]]:
    """intentc over a memory store, or a real kube-apiserver: its name, and a client of it."""
    if request.param == "intentc":
        async with served(MemoryStore(), load_schema("ambassador", "kubernetes"), "t") as client:
            yield request.param, client
        return
    async with request.getfixturevalue("cluster_client") as client:
        yield request.param, client
