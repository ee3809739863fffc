"""Watching a kind over the wire, with what a network and a server do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.informer import Complete, Deleted, Finding, Put
from intentc.bridges.kubernetes.kind_watcher import KindWatcher, Phase
from intentc.bridges.kubernetes.rest_mapping import ManifestKind, identity
from intentc.bridges.kubernetes.wire import Identity
from intentc.reconcile.backoff import Backoff, Retries
from tests.support.kube.fake_cluster import FakeCluster, running_fake_cluster
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

FARMS = "/apis/example.org/v1/farms"
FARM = ManifestKind("Farm", ("example.org/v2", "example.org/v1"))


def _farm(name: str, size: int = 1) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "valley"}, "spec": {"size": size}}


class _Reader:
    """What a watcher said: names with the versions of their content."""

    def __init__(self) -> None:
        self.known: dict[Identity, str] = {}
        self.doubts: list[str] = []

    def apply(self, findings: list[Finding]) -> None:
        for finding in findings:
            match finding:
                case Put(found):
                    self.known[found.identity] = found.version
                case Deleted(found):
                    self.known.pop(found.identity, None)
                case Complete(seen, doubt):
                    self.doubts += [doubt] if doubt else []
                    there = {name for name, _ in seen}
                    self.known = {name: found for name, found in self.known.items() if doubt or name in there}

    def same(self, cluster: FakeCluster) -> bool:
        objects = cluster.objects[FARMS].values()
        return self.known == {
            Identity(one["metadata"]["namespace"], one["metadata"]["name"]): one["metadata"]["resourceVersion"]
            for one in objects
        }


@asynccontextmanager
async def _watched(cluster: FakeCluster, silence: float = 60.0) -> AsyncIterator[tuple[KindWatcher, _Reader]]:
    reader, connection, first = _Reader(), Cluster(cluster.access), cluster.uid

    async def doubt() -> str:
        now = await identity(connection)
        return "" if now == first else "another cluster"

    retries = Retries(Backoff(0.001, 0.01))
    watcher = KindWatcher(connection, FARM, reader.apply, doubt, silence=silence, retries=retries)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watcher.run)
            yield watcher, reader
            group.cancel_scope.cancel()
    finally:
        await connection.aclose()


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with running_fake_cluster(lambda made: made.serve(FARMS, "Farm")) as made:
        yield made


async def test_what_changes_in_the_cluster_arrives(cluster: FakeCluster) -> None:
    cluster.put(FARMS, _farm("north"))
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.WATCHING)
        assert watcher.served is not None
        assert watcher.served.version == "example.org/v1"
        cluster.put(FARMS, _farm("south"))
        cluster.delete(FARMS, "north", "valley")
        await until(lambda: reader.same(cluster))
        assert watcher.counters["lists"] == 1


async def test_a_watch_that_is_cut_anywhere_resumes(cluster: FakeCluster) -> None:
    """Cut within each of the first events, and between them."""
    cluster.cut_after = list(range(0, 600, 37))
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.WATCHING)
        for number in range(20):
            cluster.put(FARMS, _farm(f"field-{number % 7}", number))
            await until(lambda: reader.same(cluster))
        await until(lambda: not cluster.cut_after)
        assert watcher.counters["lists"] == 1
        assert watcher.counters["cut"] > 0


async def test_a_compacted_revision_is_listed_again_and_the_difference_applied(cluster: FakeCluster) -> None:
    cluster.put(FARMS, _farm("north"))
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.WATCHING)
        cluster.delete(FARMS, "north", "valley")
        cluster.put(FARMS, _farm("south"))
        cluster.compact()
        cluster.cut()
        await until(lambda: watcher.counters["lists"] > 1 or reader.same(cluster))
        await until(lambda: reader.same(cluster))


async def test_pages_of_a_large_list_that_expire_are_asked_for_again(cluster: FakeCluster) -> None:
    for number in range(1200):
        cluster.put(FARMS, _farm(f"field-{number}"))
    cluster.faults = []
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.counters["listed"] >= 500)
        cluster.compact()
        await until(lambda: reader.same(cluster))


async def test_an_api_server_that_is_empty_after_a_restart_proves_no_deletion(cluster: FakeCluster) -> None:
    cluster.put(FARMS, _farm("north"))
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.WATCHING)
        cluster.emptied()
        await until(lambda: bool(reader.doubts))
        assert reader.doubts == ["another cluster"]
        assert len(reader.known) == 1


async def test_a_silent_watch_is_resumed(cluster: FakeCluster) -> None:
    async with _watched(cluster, silence=0.05) as (watcher, _):
        await until(lambda: watcher.counters["cut"] > 2)
        assert watcher.counters["lists"] == 1


async def test_errors_are_waited_out(cluster: FakeCluster) -> None:
    cluster.put(FARMS, _farm("north"))
    cluster.faults = [500, 503, "cut", 429, 500]
    async with _watched(cluster) as (_, reader):
        await until(lambda: reader.same(cluster))


async def test_a_kind_may_be_installed_later(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.bridges.kubernetes.kind_watcher._MISSING", Backoff(0.001, 0.01))
    kinds, cluster.kinds = cluster.kinds, {}
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.NOT_SERVED)
        assert "no Farm in example.org/v2 or example.org/v1" in watcher.state.error
        assert not watcher.informer.complete
        since = watcher.state.since
        await until(lambda: watcher.counters["not_served"] > 3)
        assert (watcher.state.phase, watcher.state.since) == (Phase.NOT_SERVED, since), "each attempt says the same"
        cluster.kinds = kinds
        cluster.put(FARMS, _farm("north"))
        await until(lambda: bool(reader.known) and reader.same(cluster))


async def test_a_rejected_token_is_reported_until_it_is_accepted(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.bridges.kubernetes.kind_watcher._MISSING", Backoff(0.001, 0.01))
    cluster.put(FARMS, _farm("north"))
    async with _watched(cluster) as (watcher, reader):
        await until(lambda: watcher.state.phase is Phase.WATCHING)
        cluster.token = "a new one"
        cluster.cut()
        await until(lambda: watcher.state.phase is Phase.DENIED)
        cluster.token = ""
        cluster.put(FARMS, _farm("south"))
        await until(lambda: reader.same(cluster))
