"""The toy compiler ``app``, its API server, and bridges to a small cluster, all in the test's process.

Owners are in the cluster; what they want is carried out there by real bridges, which a test starts and ends as it
likes. The test plays the cluster's own controllers (``act``), and runs the compiler (``compile``).
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.model import Key
from intentc.model.bridge_keys import synced_prefix
from intentc.offline.offline import PATH, Offline
from intentc.outgoing import INSTALLATION_LABEL
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, prefix_end
from intentc.writing import Written
from intentc.writing.connection import in_process
from intentc.writing.http import MirrorService
from tests.support.app_system import APP, LOADED
from tests.support.kube.fake_cluster import FakeCluster, Manifest
from tests.support.waiting import until_true

APPS = "/apis/example.com/v1/apps"
CONFIG_MAPS = "/api/v1/configmaps"
SERVICES = "/api/v1/services"
DEPLOYMENTS = "/apis/apps/v1/deployments"
JOBS = "/apis/batch/v1/jobs"
_LISTS = {CONFIG_MAPS: "ConfigMap", SERVICES: "Service", DEPLOYMENTS: "Deployment", JOBS: "Job", APPS: "App"}
CHILDREN = ["ConfigMap shop/web", "Deployment shop/web", "Job shop/web", "Service shop/web"]


def serve_all(cluster: FakeCluster) -> None:
    """Install the kinds of the app and of its objects."""
    for path, kind in _LISTS.items():
        cluster.serve(path, kind)


def app(name: str = "web", **spec: Any) -> Manifest:
    """An app as a person writes it."""
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "example.com/v1", "kind": "App", "metadata": metadata, "spec": {**APP, **spec}}


class _Watched(MirrorService):
    """Calls ``on_write`` before each write."""

    on_write: Callable[[object], None] = staticmethod(lambda what: None)

    def put(self, key: Key, document: bytes, fence: str | None) -> Future[Written]:
        self.on_write(key)
        return super().put(key, document, fence)

    def create(self, key: Key, collection: str, data: bytes, fence: str | None) -> Future[Written]:
        self.on_write(key)
        return super().create(key, collection, data, fence)

    def update(
        self, key: Key, data: bytes, fence: str | None, revision: int, mask: tuple[str, ...] = ()
    ) -> Future[Written]:
        self.on_write(key)
        return super().update(key, data, fence, revision, mask)

    def remove(self, key: Key, revision: int, fence: str | None) -> Future[Written]:
        self.on_write(key)
        return super().remove(key, revision, fence)


class BridgedApp:
    """``bridge`` is the one that was started last. ``is_acting``: whether the cluster's controllers work.
    ``on_answer`` is called before each write of a bridge to etcd."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.is_acting = True
        self.on_answer: Callable[[object], None] = lambda what: None
        self.bridge: Bridge
        self.store = MemoryStore(max_txn_ops=1024)
        self.api = ApiServer(self.store, LOADED.schema, path=PATH, max_txn_ops=1024)
        self.restart_compiler()

    def restart_compiler(self) -> None:
        """Start the compiler, as after a crash."""
        self.offline = Offline(LOADED, store=self.store)

    @asynccontextmanager
    async def bridging(self, process: str = "one") -> AsyncIterator[Bridge]:
        """A bridge at work."""
        connection, client = in_process(create_app(self.api)), Cluster(self.cluster.access)
        writer = _Watched(connection, LOADED.finalizers)
        writer.on_write = lambda what: self.on_answer(what)
        settings = Settings(
            PATH,
            self.offline.installation,
            process,
            finalizers=LOADED.finalizers,
            tend_seconds=0.01,
            not_served_seconds=0.0,
            makes=LOADED.makes,
        )
        kinds = mirrored_kinds(LOADED.schema)
        try:
            async with running(Bridge(client, self.store, writer, kinds, settings, schema=LOADED.schema)) as bridge:
                self.bridge = bridge
                yield bridge
        finally:
            with anyio.CancelScope(shield=True):
                await writer.aclose()
                await connection.aclose()
                await client.aclose()

    async def settled(self) -> None:
        """Wait until compiler, bridge and cluster have nothing left to do."""
        former: list[tuple[int, int]] = []

        async def is_quiet() -> bool:
            self.act()
            if not await self._items(synced_prefix(PATH)):
                # The compiler waits for the bridge, as with ``needs_synced``.
                return False
            await self.offline.settle()
            now = (await self.revision(), self.cluster.version)
            same = former == [now] and self.bridge.status()["converged"] and await self._is_seen()
            former[:] = [now]
            return same

        await until_true(is_quiet)

    async def until_children(self, *children: str) -> None:
        """Wait until the cluster has exactly these objects, such as ``Deployment shop/web``."""

        async def is_there() -> bool:
            await self.offline.settle()
            self.act()
            return self.objects == sorted(children)

        await until_true(is_there)

    async def _is_seen(self) -> bool:
        """Whether the bridge has seen everything in the cluster and in etcd."""
        bridge = self.bridge
        watchers = [(task.watcher, "") for task in bridge.tasks.values()]
        assert bridge.reconciler is not None
        selector = f"{INSTALLATION_LABEL}={self.offline.installation}"
        watchers += [(watcher, selector) for watcher in bridge.reconciler.kinds.watchers.values()]
        for watcher, chosen in watchers:
            if watcher.served is not None and not watcher.informer.complete:
                return False
            path = watcher.served.path if watcher.served is not None else ""
            if int(watcher.informer.version or 0) < self.cluster.last_event(path, chosen):
                return False
        return bridge.revision >= await self.revision()

    def act(self) -> None:
        """Let the cluster's controllers bring each object to its status."""
        if not self.is_acting:
            return
        for path in (DEPLOYMENTS, JOBS, SERVICES):
            for found in list(self.cluster.objects[path].values()):
                if not found["metadata"].get("deletionTimestamp"):
                    status = {**found.get("status", {}), **_status(found)}
                    if status != found.get("status", {}):
                        self.cluster.put(path, {**found, "status": status})

    @property
    def objects(self) -> list[str]:
        """The objects in the cluster but owners, sorted."""
        return sorted(
            f"{_LISTS[path]} {namespace}/{name}"
            for path, objects in self.cluster.objects.items()
            if path != APPS
            for namespace, name in objects
        )

    def owner(self, name: str = "web") -> Manifest | None:
        """An app as the cluster has it."""
        return self.cluster.objects[APPS].get(("shop", name))

    async def stored(self, kind: str) -> dict[str, dict[str, Any]]:
        """Name → each resource of a kind in etcd."""
        documents = [msgspec.json.decode(item.value) for item in await self._items(f"/{PATH}/{kind}/")]
        return {document["fq_name"][-1]: document for document in documents}

    async def revision(self) -> int:
        """The revision at which a resource was written last, or deleted."""
        return max((item.mod_revision for item in await self._items(f"/{PATH}/")), default=0)

    async def empty(self) -> None:
        """Lose everything in etcd."""
        for item in await self._items("/"):
            await self.store.transaction([], [Delete(item.key)])

    async def _items(self, prefix: str) -> Any:
        return (await self.store.range(prefix, prefix_end(prefix))).items


def _status(found: Manifest) -> dict[str, Any]:
    match found["kind"]:
        case "Deployment":
            count = found["spec"].get("replicas", 1)
            return {"readyReplicas": count, "conditions": [{"type": "Available", "status": "True"}]}
        case "Job":
            return {"conditions": [{"type": "Complete", "status": "True"}]}
    return {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
