"""The gateway compiler over memory, with a cluster that carries out what it makes, restarts and kills included.

``check`` states what holds after each step, whatever happened before; ``assert_done`` what holds in the end.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from intentc.apiserver.sources import DerivedSource
from intentc.compilers.gateway.contenders import ALL
from intentc.loading.resource_files import Loaded
from intentc.model.manifest import manifest_uuid
from intentc.model.status import without_empty
from intentc.offline.offline import Offline
from intentc.plugins import find_compilers, load_all
from intentc.testing import FakeCluster
from intentc.testing.given import understood
from intentc.watch.memory import MemoryStore
from tests.support.app_system import Dying
from tests.support.gateway.documents import Document

LOADED = load_all(find_compilers(["gateway"]))
OWNERS = ("contour", "gateway", "gateway_v1alpha1", "gateway_class", "gateway_class_v1alpha1")
INPUTS = (*OWNERS, "contour_deployment", "secret")


class _Aging(DerivedSource):
    """Gives new resources the time of their creation."""

    def __init__(self) -> None:
        self.seconds = 0

    def now(self) -> str:
        return (datetime(1970, 1, 1) + timedelta(seconds=self.seconds)).isoformat(timespec="microseconds")


class GatewaySystem:
    """One store, one cluster, and the process of a compiler, which may end and be started again."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.cluster = FakeCluster()
        self.services: dict[tuple[str, str], str] = {}
        """Name and namespace of Envoy's Services that must go on → their uids."""
        self.writes: Dying
        self.offline: Offline
        self._source = _Aging()
        self.start()

    def pass_time(self, seconds: int = 1) -> None:
        """Make what is created from now on younger."""
        self._source.seconds += seconds

    def start(self, **dying: Any) -> None:
        """Start the compiler, as after a crash: nothing but the store is left."""
        self.writes = Dying()
        for name, value in dying.items():
            setattr(self.writes, name, value)
        self.offline = Offline(LOADED, store=self.store, write=self.writes, source=self._source)
        self.writes.target = self.offline.local

    async def put(self, document: Document) -> None:
        """Create or replace a resource, as a user does."""
        loaded = _understood(document)
        operation = "UPDATE" if await self.document(loaded.kind, *loaded.data["fq_name"]) else "CREATE"
        data = {"uuid": _uuid(loaded), **loaded.data}
        if operation == "UPDATE":
            data = dict.fromkeys(LOADED.schema.kind(loaded.kind).user_fields) | data
            data.pop("metadata", None)
        await self.offline.server.sync([{"kind": loaded.kind, "operation": operation, "data": data}])

    async def delete(self, document: Document, *, by_force: bool = False) -> None:
        """Delete a resource; ``by_force``: and strip its finalizers, as impatient people do."""
        loaded = _understood(document)
        uuid, name = _uuid(loaded), loaded.data["fq_name"]
        await self.offline.server.sync([{"kind": loaded.kind, "operation": "DELETE", "data": {"uuid": uuid}}])
        if by_force and await self.document(loaded.kind, *name):
            entry = {"kind": loaded.kind, "operation": "UPDATE", "data": {"uuid": uuid, "metadata": {}}}
            await self.offline.server.sync([{**entry, "field_mask": {"paths": ["metadata.finalizers"]}}])

    async def is_kept(self, document: Document) -> bool:
        """Whether a resource is still there, with a finalizer of somebody else."""
        loaded = _understood(document)
        found = await self.document(loaded.kind, *loaded.data["fq_name"])
        return found is not None and not ALL.issuperset(found["metadata"].get("finalizers", ()))

    async def let_go(self, *, all_of_them: bool = False) -> int:
        """Remove the finalizers of somebody else from what is being deleted, or from everything; how many."""
        entries: list[Document] = []
        for kind in OWNERS:
            for document in (await self.documents(kind)).values():
                metadata = document["metadata"]
                ours = [name for name in metadata.get("finalizers", ()) if name in ALL]
                if ours != metadata.get("finalizers", []) and (all_of_them or "deletionTimestamp" in metadata):
                    data = {"uuid": document["uuid"], "metadata": {"finalizers": ours}}
                    mask = {"paths": ["metadata.finalizers"]}
                    entries.append({"kind": kind, "operation": "UPDATE", "data": data, "field_mask": mask})
        for entry in entries:
            await self.offline.server.sync([entry])
        return len(entries)

    async def work(self, steps: int | None = None) -> None:
        """Let engine and cluster work until nothing is left to do, or for some steps of the cluster."""
        await self.offline.settle()
        while (steps is None or steps > 0) and await self.cluster.step(self.offline):
            self.check()
            await self.offline.settle()
            steps = None if steps is None else steps - 1

    async def documents(self, kind: str) -> dict[tuple[str, ...], Document]:
        """Name → each stored resource of a kind."""
        found = {}
        for item in (await self.store.range(f"/contrail/{kind}/", f"/contrail/{kind}0")).items:
            document = msgspec.json.decode(item.value)
            found[tuple(document["fq_name"])] = document
        return found

    async def document(self, kind: str, *fq_name: str) -> Document | None:
        return (await self.documents(kind)).get(fq_name)

    def check(self) -> None:
        """Services that must go on have the uid that they had."""
        for place, uid in self.services.items():
            body = self.cluster.get("Service", *place)
            assert body is not None and body["metadata"]["uid"] == uid, f"Service {place} was made anew"

    def must_go_on(self, name: str, namespace: str, *, live: bool) -> None:
        """``live``: Envoy's Service of this name must not be deleted from now on, if it exists."""
        body = self.cluster.get("Service", name, namespace)
        if not live:
            self.services.pop((name, namespace), None)
        elif body is not None and not body["metadata"].get("deletionTimestamp"):
            self.services.setdefault((name, namespace), body["metadata"]["uid"])

    async def outcome(self) -> dict[str, Any]:
        """The objects of the cluster, and the statuses and finalizers of owners, without what differs by history.

        Of what runs once (docs/engine.md §13.3) it counts which content was done. It may be gone: it was on its way to
        other content, or its time to live is over."""
        found: dict[str, Any] = {}
        once = {name for name, manifest in (await self.documents("manifest")).items() if manifest.get("once")}
        for fq_name, observed in (await self.documents("observed")).items():
            if fq_name in once:
                found[f"once {fq_name}"] = observed.get("done"), observed.get("digest")
        for place in self.cluster.objects:
            kind, _, rest = place.partition(" ")
            namespace, _, name = rest.rpartition("/")
            if (namespace, f"{kind.lower()}.batch--{name}") in once:
                continue
            body = self.cluster.get(kind, name, namespace) or {}
            found[place] = {field: value for field, value in body.items() if field not in ("metadata", "status")}
            found[place]["labels"] = body["metadata"].get("labels")
        for kind in OWNERS:
            for fq_name, document in (await self.documents(kind)).items():
                ours = [name for name in document["metadata"].get("finalizers", ()) if name in ALL]
                found[f"{kind} {fq_name}"] = _timeless(document.get("status")), ours
        return found

    async def assert_done(self) -> None:
        """What is there is what a compile from nothing gives, and another process writes nothing."""
        assert not await self.cluster.step(self.offline)
        fresh = GatewaySystem()
        for kind in INPUTS:
            for document in (await self.documents(kind)).values():
                identity = ("uuid", "fq_name", "api_version")
                data: Document = {field: document[field] for field in identity if field in document}
                fields = LOADED.schema.kind(kind).properties
                data |= {field: value for field, value in document.items() if field in fields}
                fresh._source.seconds = _seconds(document)
                await fresh.offline.server.sync([{"kind": kind, "operation": "CREATE", "data": data}])
        await fresh.work()
        assert await self.outcome() == await fresh.outcome()
        manifests, observed = await self.documents("manifest"), await self.documents("observed")
        assert manifests.keys() == observed.keys()
        before = (await self.store.range("/", "0")).revision
        self.start()
        await self.work()
        assert (await self.store.range("/", "0")).revision == before, "another process writes nothing"


def _understood(document: Document) -> Loaded:
    return understood([document], LOADED.schema)[0]


def _uuid(loaded: Loaded) -> str:
    return manifest_uuid(loaded.kind, loaded.data["fq_name"])


def _seconds(document: Document) -> int:
    """The time of a resource's creation."""
    created = document.get("metadata", {}).get("creationTimestamp", "1970-01-01T00:00:00Z")
    return int(datetime.fromisoformat(created).timestamp())


def _timeless(status: Any) -> Any:
    """A status without times, generations, and addresses, which the cluster gives in the order of creation."""
    if isinstance(status, dict):
        left_out = ("lastTransitionTime", "observedGeneration", "addresses")
        return without_empty({name: _timeless(value) for name, value in status.items() if name not in left_out})
    if isinstance(status, list):
        found = [_timeless(one) for one in status]
        return sorted(found, key=lambda one: str(one.get("type", "")) if isinstance(one, dict) else "")
    return status
