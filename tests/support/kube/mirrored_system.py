"""A cluster, a store in memory with its API server, bridges between both, and a compiler over the store.

``assert_right`` says what holds after every fault: etcd has what the cluster has, the compiler's outputs are those of
a compile of the cluster's manifests from nothing, and a further pass writes nothing to either side.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.apiserver.local import LocalWriteService
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.loading.kubeconfig import ClusterAccess
from intentc.loading.resource_files import load_what_can_be
from intentc.offline.offline import PATH, Offline
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.writing.connection import in_process
from intentc.writing.http import MirrorService
from tests.support.faulty_store import FaultyStore
from tests.support.kube.fake_cluster import FakeCluster, Manifest
from tests.support.waiting import until, until_true

GETAMBASSADOR = "/apis/getambassador.io/v3alpha1"
MAPPINGS, HOSTS, LISTENERS = (f"{GETAMBASSADOR}/{plural}" for plural in ("mappings", "hosts", "listeners"))
SERVICES = "/api/v1/services"
KINDS = {MAPPINGS: "Mapping", HOSTS: "Host", LISTENERS: "Listener", SERVICES: "Service"}
MIRRORED = ("mapping", "host", "listener", "service")
NAMES = tuple(f"m{number}" for number in range(40))
"""Of Mappings that come and go; those of one prefix share a route."""
_FEWEST_OUTPUTS = 20


def install_kinds(cluster: FakeCluster) -> None:
    for path, kind in KINDS.items():
        cluster.serve(path, kind)


def mapping(name: str, **spec: Any) -> Manifest:
    """A Mapping; two names have one prefix, if the numbers in them are neighbours."""
    number = int(name[1:])
    given = {"hostname": "*", "prefix": f"/{number // 2}/", "service": f"service-{number % 3}", **spec}
    return _manifest("Mapping", name, given)


def _manifest(kind: str, name: str, spec: dict[str, Any]) -> Manifest:
    version = "v1" if kind == "Service" else "getambassador.io/v3alpha1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


class MirroredSystem:
    """``address``: where bridges reach the cluster, if that is not the cluster's own; ``chance``: of the changes;
    ``mirrored``: the kinds."""

    def __init__(
        self, cluster: FakeCluster, loaded: Loaded, chance: random.Random, mirrored: Collection[str] = MIRRORED
    ) -> None:
        self.cluster = cluster
        self.chance = chance
        self.address = ""
        self.token_file: Path | None = None
        self.store = FaultyStore(max_txn_ops=1024)
        self.api = ApiServer(self.store, loaded.schema, path=PATH, max_txn_ops=1024)
        self.kinds = mirrored_kinds(loaded.schema, mirrored)
        self._loaded = loaded
        self.compiler = self.compiling()

    def compiling(self) -> Offline:
        """A compiler over the store, as after a restart."""
        services = LocalWriteService(self.api)
        return Offline(self._loaded, store=self.store, write=services, read=services)

    @asynccontextmanager
    async def bridge(self, process: str = "one") -> AsyncIterator[Bridge]:
        """A bridge at work until the block ends."""
        connection, client = in_process(create_app(self.api)), Cluster(self._access)
        writer = MirrorService(connection)
        settings = Settings(
            PATH, "default", process, ttl=2, heartbeat_seconds=0.5, tend_seconds=0.01, not_served_seconds=0.0
        )
        try:
            async with running(Bridge(client, self.store, writer, self.kinds, settings)) as bridge:
                yield bridge
        finally:
            await writer.aclose()
            await connection.aclose()
            await client.aclose()

    def _access(self) -> ClusterAccess:
        token = "" if self.token_file else self.cluster.token
        return ClusterAccess(self.address or self.cluster.url, token=token, token_file=self.token_file)

    # The people who use the cluster

    def populate(self) -> None:
        """A Listener, Hosts, Services and Mappings."""
        binding = {"namespace": {"from": "ALL"}}
        listener = {"port": 8080, "protocol": "HTTP", "securityModel": "INSECURE", "hostBinding": binding}
        self.cluster.put(LISTENERS, _manifest("Listener", "front", listener))
        routed = {"requestPolicy": {"insecure": {"action": "Route"}}}
        for number in range(3):
            self.cluster.put(HOSTS, _manifest("Host", f"host-{number}", {"hostname": f"h{number}.example", **routed}))
            self.cluster.put(SERVICES, _manifest("Service", f"service-{number}", {"ports": [{"port": 80}]}))
        for name in NAMES:
            self.cluster.put(MAPPINGS, mapping(name))

    def change(self) -> None:
        """One change of a Mapping, as chance has it: other fields, gone, or there again under the same name."""
        name = self.chance.choice(NAMES)
        is_there = ("shop", name) in self.cluster.objects[MAPPINGS]
        if is_there and self.chance.random() < 0.3:
            self.cluster.delete(MAPPINGS, name, "shop")
            if self.chance.random() < 0.5:
                return
        service = self.chance.choice(["service-0", "service-1", "http://broken/path"])
        self.cluster.put(MAPPINGS, mapping(name, service=service, weight=self.chance.randrange(1, 50)))

    # What is there, and what should be

    async def copies(self) -> dict[str, tuple[Any, ...]]:
        """Each copy in etcd: uid → (kind and name, the fields that change)."""
        found = {}
        for kind in MIRRORED:
            for item in (await self.store.range(f"/{PATH}/{kind}/", f"/{PATH}/{kind}0")).items:
                document = msgspec.json.decode(item.value)
                name = ":".join(document["fq_name"])
                found[document["uuid"]] = (f"{kind} {name}", document.get("service"), document.get("weight"))
        return found

    async def same(self) -> bool:
        """Whether the copies are those of the cluster, by uid, name, and what changes."""
        return await self.copies() == {
            one["metadata"]["uid"]: (
                f"{KINDS[path].lower()} shop:{one['metadata']['name']}",
                one["spec"].get("service"),
                one["spec"].get("weight"),
            )
            for path, objects in self.cluster.objects.items()
            for one in objects.values()
        }

    async def values(self) -> dict[str, int]:
        """Key of each resource → its revision: equal means that nobody wrote."""
        return {item.key: item.mod_revision for item in (await self.store.range(f"/{PATH}/", f"/{PATH}0")).items}

    async def quiet(self, bridge: Bridge) -> None:
        """Wait until the copies are right, the compiler has compiled them, and its statuses are in the cluster."""
        await until_true(self.same)
        await self.compiler.settle()
        await until(lambda: bridge.status()["converged"] and self._reported())

    def _reported(self) -> bool:
        """Whether the cluster shows exactly the faults that the compiler finds."""
        shown = {
            name[1]: one["status"].get("reason", "")
            for name, one in self.cluster.objects[MAPPINGS].items()
            if one.get("status", {}).get("state")
        }
        found = {one["fq_name"][-1]: one["status"]["reason"] for one in self.compiler.statuses()}
        return shown == {
            name: reason for name, reason in found.items() if ("shop", name) in self.cluster.objects[MAPPINGS]
        }

    async def assert_right(self, bridge: Bridge) -> None:
        """Wait until all is quiet; then cluster = etcd = compile from nothing, and nothing more is written."""
        await self.quiet(bridge)
        outputs = self.compiler.outputs()
        assert len(outputs) >= _FEWEST_OUTPUTS
        assert outputs == await self._from_nothing()
        assert await self.copies_are_whole()
        before, version = await self.values(), self.cluster.version
        again = self.compiling()
        await again.settle()
        await until(lambda: bridge.status()["converged"])
        assert await self.values() == before
        assert self.cluster.version == version

    async def copies_are_whole(self) -> bool:
        """Whether each copy says what a file with its manifest would say."""
        loaded, errors = load_what_can_be(self._documents(), self._loaded.schema)
        assert not errors
        stored = {}
        for kind in MIRRORED:
            for item in (await self.store.range(f"/{PATH}/{kind}/", f"/{PATH}/{kind}0")).items:
                document = msgspec.json.decode(item.value)
                stored[document["uuid"]] = document
        return all(
            stored[one.data["uuid"]].get(field, value) == value
            for one in loaded
            for field, value in one.data.items()
            if field not in {"metadata", "status"}
        )

    def _documents(self) -> str:
        manifests = [one for objects in self.cluster.objects.values() for one in objects.values()]
        return "\n---\n".join(msgspec.json.encode(one).decode() for one in manifests) + "\n"

    async def _from_nothing(self) -> list[dict[str, Any]]:
        loaded, errors = load_what_can_be(self._documents(), self._loaded.schema)
        assert not errors
        offline = Offline(self._loaded)
        await offline.apply([{"kind": one.kind, "operation": "CREATE", "data": one.data} for one in loaded])
        return offline.outputs()

    async def assert_second_pass_writes_nothing(self) -> None:
        """A new bridge, which leads, finds nothing to write, in etcd or in the cluster."""
        self.address = ""
        before, version = await self.values(), self.cluster.version
        async with self.bridge("again") as bridge:
            await until(lambda: bridge.election.fence() is not None and bridge.status()["converged"])
            await until(lambda: bridge.ready()[0] and all(task.is_listed for task in bridge.tasks.values()))
            assert not bridge.copy_writer.counters
            assert not bridge.reporter.counters
        assert await self.values() == before
        assert self.cluster.version == version


def ambassador() -> Loaded:
    return load_all(find_compilers(["ambassador"]))
