"""The bridge's informer on our API server: list, watch and compaction against a server that anyone can start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.discovery import ManifestKind
from intentc.bridges.kubernetes.informer import Complete, Deleted, Finding, Put
from intentc.bridges.kubernetes.informing import KindWatcher, Phase
from intentc.bridges.kubernetes.wire import Identity
from intentc.loading import load_schema
from intentc.loading.kubeconfig import ClusterAccess
from intentc.model import Schema
from intentc.reconcile.backoff import Backoff, Retries
from intentc.watch.etcd import EtcdStore
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
MAPPING = ManifestKind("Mapping", ("getambassador.io/v3alpha1", "getambassador.io/v2"))
MERGE = {"content-type": "application/merge-patch+json"}


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


class Reader:
    """What the informer says: names → resource versions."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def apply(self, findings: list[Finding]) -> None:
        for finding in findings:
            match finding:
                case Put(found):
                    self.known[found.identity.name] = found.version
                case Deleted(found):
                    self.known.pop(found.identity.name, None)
                case Complete(seen):
                    there = {name for name, _ in seen}
                    self.known = {name: one for name, one in self.known.items() if Identity("shop", name) in there}


@asynccontextmanager
async def informed(client: httpx2.AsyncClient) -> AsyncIterator[tuple[KindWatcher, Reader]]:
    async def doubt() -> str:
        return ""

    cluster, reader = Cluster(lambda: ClusterAccess(str(client.base_url).rstrip("/"))), Reader()
    watcher = KindWatcher(cluster, MAPPING, reader.apply, doubt, retries=Retries(Backoff(0.001, 0.01)))
    try:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watcher.run)
                await until(lambda: watcher.state.phase is Phase.WATCHING)
                yield watcher, reader
                tasks.cancel_scope.cancel()
    finally:
        await cluster.aclose()


async def versions(client: httpx2.AsyncClient) -> dict[str, str]:
    items = (await client.get(MAPPINGS)).json()["items"]
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in items}


async def put(client: httpx2.AsyncClient, name: str) -> None:
    body = {"metadata": {"name": name}, "spec": {"prefix": f"/{name}/", "service": "web"}}
    assert (await client.post(MAPPINGS, json=body)).status_code == 201


async def test_what_changes_arrives_without_another_list(client: httpx2.AsyncClient) -> None:
    await put(client, "old")
    async with informed(client) as (watcher, reader):
        await put(client, "new")
        await client.patch(f"{MAPPINGS}/old", json={"spec": {"weight": 5}}, headers=MERGE)
        await put(client, "gone")
        await client.delete(f"{MAPPINGS}/gone")
        await put(client, "last")
        wanted = await versions(client)
        await until(lambda: reader.known == wanted)
        assert watcher.counters["lists"] == 1


async def test_many_written_at_one_revision_arrive_and_compaction_loses_none(
    client: httpx2.AsyncClient, etcd_store: EtcdStore
) -> None:
    async with informed(client) as (_, reader):
        items = [
            {"kind": "mapping", "data": {"fq_name": ["shop", f"m{number}"], "prefix": "/", "service": "web"}}
            for number in range(20)
        ]
        assert (await client.post("/sync", json={"resources": items})).status_code == 200
        wanted = await versions(client)
        await until(lambda: reader.known == wanted)
        await etcd_store.compact((await etcd_store.range("/")).revision)
        await client.delete(f"{MAPPINGS}/m3")
        wanted = await versions(client)
        await until(lambda: reader.known == wanted)
