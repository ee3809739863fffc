"""The bridge between a small cluster and an API server over a store in memory: etcd holds what the cluster has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.directives import AllowDeletes, Book
from intentc.loading.schemas import load_schema
from intentc.model import Schema
from intentc.model.bridge_keys import Mark, synced_key
from intentc.watch.protocol import Put, prefix_end
from intentc.writing.connection import in_process
from intentc.writing.http import MirrorService
from tests.support.faulty_store import FaultyStore
from tests.support.kube.fake_cluster import FakeCluster, running_fake_cluster
from tests.support.waiting import until, until_true

pytestmark = pytest.mark.anyio
MAPPINGS = "/apis/getambassador.io/v3alpha1/mappings"
SERVICES = "/api/v1/services"
OURS = "intentc.example.org/ours"


def _mapping(name: str = "quote", service: str = "quote", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": name, "namespace": "default", "managedFields": [{"manager": "kubectl"}], **metadata},
        "spec": {"prefix": f"/{name}/", "service": service, "labels": {"ambassador": []}},
        "status": {"state": "Running"},
    }


class _World:
    """A cluster, a store with its API server, and as many bridges as a test starts."""

    def __init__(self, cluster: FakeCluster, schema: Schema) -> None:
        self.cluster = cluster
        self.store = FaultyStore(max_txn_ops=1024)
        self.api = ApiServer(self.store, schema, path="test", max_txn_ops=1024)
        self.kinds = mirrored_kinds(schema, ("mapping", "service"))

    @asynccontextmanager
    async def bridge(self, process: str = "one") -> AsyncIterator[Bridge]:
        ours = frozenset({OURS})
        settings = Settings("test", "default", process, finalizers=ours, tend_seconds=0.01, not_served_seconds=0.0)
        async with (
            aclosing(in_process(create_app(self.api))) as connection,
            aclosing(Cluster(self.cluster.access)) as client,
            aclosing(MirrorService(connection, [OURS])) as writer,
            running(Bridge(client, self.store, writer, self.kinds, settings)) as bridge,
        ):
            yield bridge

    async def stored(self, kind: str = "mapping") -> dict[str, dict[str, Any]]:
        prefix = f"/test/{kind}/"
        found = await self.store.range(prefix, prefix_end(prefix))
        documents = [msgspec.json.decode(item.value) for item in found.items]
        names = [
            document["fq_name"] if isinstance(document["fq_name"], list) else ["unreadable"] for document in documents
        ]
        return {name[-1]: document for name, document in zip(names, documents, strict=True)}

    async def same(self) -> bool:
        """Whether the copies are those of the cluster, by uid and service."""
        objects = self.cluster.objects[MAPPINGS].values()
        wanted = {one["metadata"]["name"]: (one["metadata"]["uid"], one["spec"]["service"]) for one in objects}
        return {name: (one["uuid"], one["service"]) for name, one in (await self.stored()).items()} == wanted

    async def written(self, bridge: Bridge) -> int:
        """How many copies this bridge wrote, once it has the answers to all of its writes. A copy is in the store
        before that."""
        await until(lambda: bridge.copy_writer.idle)
        return bridge.copy_writer.counters["written"]

    async def has_quote(self) -> bool:
        return "quote" in await self.stored()

    async def synced(self) -> bool:
        return bool((await self.store.range(synced_key("test", "mapping"))).items)


def _setup(cluster: FakeCluster) -> None:
    cluster.serve(MAPPINGS, "Mapping")
    cluster.serve(SERVICES, "Service")


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


@pytest.fixture
async def world(schema: Schema) -> AsyncIterator[_World]:
    async with running_fake_cluster(_setup) as cluster:
        yield _World(cluster, schema)


async def test_the_cluster_s_resources_are_in_etcd_with_their_metadata(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping(generation=7, labels={"a": "b"}, finalizers=["others.example.org/x"]))
    async with world.bridge() as bridge:
        await until_true(world.synced)
        (found,) = (await world.stored()).values()
        assert found["metadata"] == {
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["others.example.org/x"],
            "generation": 7,
            "labels": {"a": "b"},
            "mirrored": True,
        }
        assert (found["prefix"], found["rate_limit_labels"]) == ("/quote/", {"ambassador": []})
        assert "status" not in found
        await until(lambda: bridge.status()["converged"])
        assert bridge.ready() == (True, ())
        assert bridge.healthy()
        assert bridge.pending() == []


async def test_changes_and_deletions_follow(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping("one"))
    async with world.bridge():
        await until_true(world.synced)
        world.cluster.put(MAPPINGS, _mapping("one", "changed"))
        world.cluster.put(MAPPINGS, _mapping("two"))
        await until_true(world.same)
        world.cluster.delete(MAPPINGS, "one")
        world.cluster.delete(MAPPINGS, "two")
        world.cluster.put(MAPPINGS, _mapping("two"))
        await until_true(world.same)
        assert len(await world.stored()) == 1


async def test_a_copy_loses_what_its_object_loses_and_our_finalizers_stay(world: _World) -> None:
    rich = _mapping(labels={"a": "b"}, finalizers=["theirs", OURS])
    world.cluster.put(MAPPINGS, {**rich, "spec": {**rich["spec"], "timeout_ms": 5}})
    async with world.bridge() as bridge:
        await until_true(world.synced)
        (found,) = (await world.stored()).values()
        assert found["metadata"]["finalizers"] == ["theirs", OURS]
        world.cluster.put(MAPPINGS, {**_mapping(service="changed"), "metadata": {**rich["metadata"], "labels": {}}})
        await until_true(world.same)
        (found,) = (await world.stored()).values()
        assert "timeout_ms" not in found
        assert "labels" not in found["metadata"]
        assert found["metadata"]["finalizers"] == ["theirs", OURS]
        assert await world.written(bridge) == 2


async def test_items_of_a_list_need_not_name_their_version(world: _World) -> None:
    """Those of built-in kinds don't."""
    world.cluster.put(SERVICES, {"metadata": {"name": "quote", "namespace": "default"}, "spec": {"type": "ClusterIP"}})
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["converged"])
        assert (await world.stored("service"))["quote"]["api_version"] == "v1"


async def test_what_is_not_declared_never_reaches_etcd(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until_true(world.synced)
        for number in range(5):
            world.cluster.put(MAPPINGS, {**_mapping(), "status": {"state": str(number)}})
        world.cluster.put(MAPPINGS, _mapping("last"))
        await until_true(world.same)
        assert await world.written(bridge) == 2


async def test_a_status_that_no_compiler_claims_is_copied_as_far_as_it_is_declared(world: _World) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}}
    ports = [{"port": 80, "protocol": "TCP"}]
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ports": ports}]}, "conditions": [{"type": "x"}]}
    world.cluster.put(SERVICES, {**service, "status": status})
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["converged"])
        assert (await world.stored("service"))["s"]["status"] == {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        world.cluster.put(SERVICES, {**service, "status": {"loadBalancer": {}}})

        async def is_cleared() -> bool:
            return not (await world.stored("service"))["s"].get("status", {}).get("loadBalancer")

        await until_true(is_cleared)
        await until(lambda: bridge.status()["converged"])
        written = await world.written(bridge)
        world.cluster.put(SERVICES, {**service, "status": {"loadBalancer": {}, "conditions": [{"type": "y"}]}})
        world.cluster.put(MAPPINGS, _mapping())
        await until_true(world.same)
        assert await world.written(bridge) == written + 1


async def test_a_second_start_writes_nothing(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge():
        await until_true(world.synced)
    async with world.bridge("two") as bridge:
        await until(lambda: bridge.status()["converged"] and bridge.election.fence() is not None)
        assert not bridge.copy_writer.counters


async def test_what_was_deleted_while_no_bridge_ran_is_deleted(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping("one"))
    world.cluster.put(MAPPINGS, _mapping("two"))
    async with world.bridge():
        await until_true(world.synced)
    world.cluster.delete(MAPPINGS, "one")
    async with world.bridge():
        await until_true(world.same)


async def test_a_copy_that_somebody_changed_or_deleted_is_restored(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping("one"))
    async with world.bridge():
        await until_true(world.synced)
        key = f"{(await world.stored())['one']['uuid']}"
        await world.api.sync([{"kind": "mapping", "operation": "UPDATE", "data": {"uuid": key, "service": "other"}}])
        await until_true(world.same)
        await world.api.sync([{"kind": "mapping", "operation": "DELETE", "data": {"uuid": key}}])
        await until_true(world.same)


async def test_an_api_server_restarted_empty_deletes_nothing_until_that_is_approved(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until_true(world.synced)
        world.cluster.emptied()
        await until(lambda: bool(bridge.mirror.withheld))
        assert len(await world.stored()) == 1
        first, second = bridge.status()["attention"]
        assert first.startswith("nothing is written: this is cluster")
        assert "intentc allow-deletes --mirrored mapping" in second
        world.cluster.put(MAPPINGS, _mapping("quote", "of another cluster"))
        await until(lambda: bridge.tasks["mapping"].watcher.counters["events"] > 0)
    async with world.bridge() as bridge:
        await until(lambda: "mapping" in bridge.tasks and bridge.tasks["mapping"].watcher.informer.complete)
        assert (await world.stored())["quote"]["service"] == "quote"
        await Book(world.store, "default/kubernetes").put(AllowDeletes(kind="mapping"))
        await until_true(world.same)
        assert (await world.stored())["quote"]["service"] == "of another cluster"


async def test_another_cluster_is_mirrored_only_when_the_deletions_of_every_kind_are_approved(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    world.cluster.put(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "d"}})
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["converged"])
        world.cluster.emptied()
        await until(lambda: set(bridge.mirror.withheld) == {"mapping", "service"})
        await Book(world.store, "default/kubernetes").put(AllowDeletes(kind="mapping"))
        await until(lambda: set(bridge.mirror.withheld) == {"service"})
        assert bridge.status()["attention"][0].startswith("nothing is written: this is cluster")
    # The process knew of the approval, and carried nothing out.
    async with world.bridge() as bridge:
        await until(lambda: set(bridge.mirror.withheld) == {"mapping", "service"})
        for kind in ("mapping", "service"):
            assert len(await world.stored(kind)) == 1
            await Book(world.store, "default/kubernetes").put(AllowDeletes(kind=kind))
        await until_true(world.same)
        await until(lambda: bridge.status()["converged"])
        assert await world.stored("service") == {}


async def test_a_cluster_is_unknown_while_its_id_is_unreadable(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping("one"))
    async with world.bridge():
        await until_true(world.synced)
    world.cluster.is_identifiable = False
    world.cluster.put(MAPPINGS, _mapping("two"))
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["kinds"].get("mapping", {}).get("phase") == "denied")
        await until(lambda: bridge.election.fence() is not None)
        (words,) = bridge.status()["attention"]
        assert words.startswith("nothing is written: it is unknown which cluster this is, and ")
        assert "grant `get` of the namespace kube-system" in words
        assert not bridge.copy_writer.counters
        world.cluster.is_identifiable = True
        await until_true(world.same)
        assert bridge.status()["attention"] == []


async def test_the_doubt_about_another_cluster_stays_when_its_id_can_t_be_read(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until_true(world.synced)
        world.cluster.emptied()
        await until(lambda: bool(bridge.mirror.withheld))
        world.cluster.is_identifiable = False
        world.cluster.cut()
        await until(lambda: bridge.identity.is_unreadable)
        assert bridge.copy_writer._fence() is None
    async with world.bridge() as bridge:
        await until(lambda: bridge.identity.is_unreadable and bridge.election.fence() is not None)
        assert len(await world.stored()) == 1
        assert bridge.identity.doubt


async def test_a_cluster_without_a_readable_id_is_mirrored_once_that_is_approved(world: _World) -> None:
    async with world.bridge():
        await until_true(world.synced)
    world.cluster.is_identifiable = False
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until(lambda: bool(bridge.status()["attention"]))
        assert "`intentc allow-deletes --mirrored mapping` has it mirrored" in bridge.status()["attention"][0]
        await Book(world.store, "default/kubernetes").put(AllowDeletes(kind="mapping"))
        await until_true(world.same)
        await until(lambda: all(task.mark == Mark("", task.watcher.informer.version) for task in bridge.tasks.values()))
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["converged"])
        assert bridge.status()["attention"] == []


async def test_an_unreadable_copy_is_replaced_and_deleted_with_its_object(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping("one"))
    world.cluster.put(MAPPINGS, _mapping("two"))
    async with world.bridge():
        await until_true(world.synced)
    for found in (await world.stored()).values():
        broken = msgspec.json.encode({**found, "fq_name": 5})
        await world.store.transaction([], [Put(f"/test/mapping/{found['uuid']}", broken)])
    world.cluster.delete(MAPPINGS, "one")
    async with world.bridge():
        await until_true(world.same)


async def test_an_object_that_the_api_server_rejects_is_reported_and_the_others_are_copied(world: _World) -> None:
    bad = _mapping("bad")
    bad["spec"]["timeout_ms"] = "soon"
    world.cluster.put(MAPPINGS, bad)
    world.cluster.put(MAPPINGS, _mapping("good"))
    async with world.bridge() as bridge:
        await until_true(world.synced)
        assert list(await world.stored()) == ["good"]
        (words,) = bridge.status()["attention"]
        assert words.startswith("mapping default/bad is not mirrored: 400: mapping: timeout_ms: ")
        await until(lambda: bool(world.cluster.events))
        world.cluster.put(MAPPINGS, _mapping("bad"))
        await until_true(world.same)
        assert bridge.status()["attention"] == []
        (event,) = world.cluster.events.values()
        assert (event["reason"], event["regarding"]["kind"], event["regarding"]["name"]) == (
            "NotMirrored",
            "Mapping",
            "bad",
        )
        assert event["note"].startswith("400: mapping: timeout_ms: ")


async def test_an_object_that_is_no_manifest_of_its_kind_is_reported(world: _World) -> None:
    bad = _mapping("bad")
    bad["spec"] = "text"
    world.cluster.put(MAPPINGS, bad)
    async with world.bridge() as bridge:
        await until(lambda: bool(bridge.mirror.unusable))
        assert bridge.status()["attention"][0].startswith(
            "mapping default/bad is not mirrored: spec: Expected `object`"
        )
        await until(lambda: bool(world.cluster.events))
        (event,) = world.cluster.events.values()
        assert event["regarding"]["name"] == "bad"


async def test_a_name_that_a_person_took_is_reported(world: _World) -> None:
    await world.api.create("mapping", {"fq_name": ["default", "quote"], "prefix": "/", "service": "mine"})
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until(lambda: bool(bridge.status()["attention"]))
        assert "has its name, and no bridge wrote that" in bridge.status()["attention"][0]
        assert (await world.stored())["quote"]["service"] == "mine"


async def test_one_of_two_bridges_writes_and_the_other_takes_over(world: _World) -> None:
    async with world.bridge("one") as first:
        await until(lambda: first.election.fence() is not None)
        async with world.bridge("two") as second:
            await until_true(world.synced)
            world.cluster.put(MAPPINGS, _mapping())
            await until_true(world.same)
            assert second.election.fence() is None
            assert not second.copy_writer.counters
            await first.election.resign()
            world.cluster.put(MAPPINGS, _mapping("quote", "changed"))
            await until_true(world.same)
            assert await world.written(second) == 1


async def test_a_kind_that_the_cluster_lacks_is_synced_as_absent(world: _World) -> None:
    del world.cluster.kinds[SERVICES]
    async with world.bridge() as bridge:
        await until(lambda: bridge.status()["kinds"].get("service", {}).get("synced", False))
        assert bridge.tasks["service"].mark is not None
        assert not bridge.tasks["service"].mark.served


async def _claim(world: _World, status: dict[str, Any], name: str = "quote", finalizers: Sequence[str] = ()) -> None:
    uid = (await world.stored())[name]["uuid"]
    if finalizers:
        metadata = {"finalizers": list(finalizers)}
        update = {"kind": "mapping", "operation": "UPDATE", "data": {"uuid": uid, "metadata": metadata}}
        await world.api.sync([update | {"field_mask": {"paths": ["metadata.finalizers"]}}])
    claims = {"installation": "default", "items": sorted(status)}
    data = {"uuid": uid, "status": {"state": None, "reason": None, **status}, "status_claims": claims}
    await world.api.sync([{"kind": "mapping", "operation": "UPDATE_STATUS", "data": data}])


async def test_status_of_ours_is_written_to_the_cluster_and_taken_back_over_a_restart(world: _World) -> None:
    world.cluster.put(MAPPINGS, {**_mapping(), "status": {"theirs": "x"}})

    def status() -> Any:
        (found,) = world.cluster.objects[MAPPINGS].values()
        return found["status"]

    async with world.bridge() as bridge:
        await until_true(world.synced)
        assert status() == {"theirs": "x"}
        world.cluster.faults.append(409)
        await _claim(world, {"state": "Error", "reason": "why"})
        await until(lambda: status() == {"theirs": "x", "state": "Error", "reason": "why"})
        await until(lambda: bridge.reporter.counters == {"statuses": 1})
    await _claim(world, {})
    async with world.bridge("two") as bridge:
        await until(lambda: status() == {"theirs": "x"})
        await until(lambda: bridge.reporter.counters == {"statuses": 1})


@pytest.mark.parametrize("count", [1, 10, 50])
async def test_denied_statuses_and_finalizers_delay_no_other(world: _World, count: int) -> None:
    denied = [f"denied-{number}" for number in range(count)]
    for name in (*denied, "quote"):
        world.cluster.put(MAPPINGS, _mapping(name))
    for name in denied:
        path = f"/apis/getambassador.io/v3alpha1/namespaces/default/mappings/{name}"
        world.cluster.failing |= {path: 403, f"{path}/status": 403}

    def found() -> dict[str, Any]:
        return world.cluster.objects[MAPPINGS]["default", "quote"]

    async with world.bridge() as bridge:
        await until_true(world.synced)
        for name in (*denied, "quote"):
            await _claim(world, {"state": "Error"}, name, [OURS])
        await until(lambda: len(bridge.reporter.rejected) == len(bridge.finalizers.rejected) == count)
        await until(lambda: found()["status"]["state"] == "Error" and found()["metadata"].get("finalizers") == [OURS])
        assert not bridge.is_idle
        world.cluster.failing.clear()
        for name in denied:
            await _claim(world, {"state": "Error", "reason": "again"}, name)
        await until(lambda: not bridge.reporter.rejected)


async def test_its_figures_are_metrics(world: _World) -> None:
    world.cluster.put(MAPPINGS, _mapping())
    async with world.bridge() as bridge:
        await until_true(world.synced)
        figures = {
            (sample.name, sample.labels.get("kind", sample.labels.get("outcome", ""))): sample.value
            for family in bridge.registry.collect()
            for sample in family.samples
        }
        assert figures["intentc_kubernetes_leading", ""] == 1
        assert figures["intentc_kubernetes_objects", "mapping"] == 1
        assert figures["intentc_kubernetes_writes_total", "written"] == 1
        assert figures["intentc_kubernetes_problems_watching", ""] == 1
        assert figures["intentc_kubernetes_problems", ""] == figures["intentc_kubernetes_problems_reported", ""] == 0


@pytest.mark.parametrize(
    "content",
    [
        *({"metadata": odd} for odd in ({"labels": ["a"]}, {"finalizers": "a"}, {"managedFields": "a"})),
        {"metadata": {"managedFields": [{"manager": "intentc-status", "fieldsV1": {"f:status": {"f:state": {}}}}]}},
        *({"metadata": {"generation": 10**30}}, {"spec": ["a"]}, {"status": ["a"]}, {"status": "a"}),
        {"spec": {"prefix": "/x/", "service": "x", "weight": 10**30}},
        {"spec": {"prefix": {"a": ["b"]}, "service": 7}},
        {"status": {"state": {"a": []}, "conditions": ["a", {"type": ["b"]}]}},
    ],
    ids=repr,
)
async def test_an_object_of_any_content_stops_nothing(world: _World, content: dict[str, Any]) -> None:
    odd = _mapping("odd")
    metadata = odd["metadata"] | content.get("metadata", {})
    async with world.bridge() as bridge:
        await until_true(world.synced)
        world.cluster.put(MAPPINGS, {**odd, **content, "metadata": metadata})
        world.cluster.put(MAPPINGS, _mapping())
        await until_true(world.has_quote)
        await _claim(world, {"state": "Error"})
        await until(lambda: world.cluster.objects[MAPPINGS]["default", "quote"]["status"]["state"] == "Error")
        if "odd" in await world.stored():
            await _claim(world, {"state": "Error"}, "odd")
        await until(lambda: bridge.healthy() and bridge.copy_writer.idle)
