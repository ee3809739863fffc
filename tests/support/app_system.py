"""The toy compiler ``app`` over memory, with a cluster that carries out what it makes, restarts and kills included.

It is what docs/authoring.md describes. ``check`` states what holds after each step, whatever happened before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.model import Operation
from intentc.model.manifest import manifest_uuid
from intentc.offline.offline import Offline
from intentc.outgoing import FINALIZER as CARRIED_OUT
from intentc.planning import DeleteGuard
from intentc.plugins import load_all
from intentc.reconcile.failures import UnknownOutcome
from intentc.testing import FakeCluster
from intentc.testing.recording import Recording
from intentc.watch.memory import MemoryStore
from intentc.writing import DryRun, Written
from tests.support.app.compiler import FINALIZER, compiler

LOADED = load_all((compiler,))
PHASES = {"ConfigMap": 1, "Job": 2, "Deployment": 3, "Service": 4}
APP = {"image": "web:1", "replicas": 2, "settings": {"color": "blue"}, "migration": "migrate up"}

Document = dict[str, Any]


class Killed(BaseException):
    """The process ends here."""


class Dying(Recording):
    """Ends the process at a write: ``dies_at`` counts from 1; ``made``: after the server has made that write. ``lost``
    counts writes whose answers are lost."""

    def __init__(self) -> None:
        super().__init__(DryRun())
        self.dies_at = 0
        self.made = False
        self.lost: set[int] = set()
        self.count = 0

    async def _write(self, method: str, operation: Operation, fence: str | None) -> Written:
        self.count += 1
        if self.count == self.dies_at and not self.made:
            raise Killed
        written = await super()._write(method, operation, fence)
        if self.count == self.dies_at:
            raise Killed
        if self.count in self.lost:
            raise UnknownOutcome("cut off, as the test asked for")
        return written


class AppSystem:
    """One store, one cluster, and the process of a compiler, which may end and be started again."""

    def __init__(self, cluster: FakeCluster | None = None) -> None:
        self.store = MemoryStore()
        self.cluster = cluster or FakeCluster()
        self.deleted: set[str] = set()
        self.ended_before: set[str] = set()
        """The uuids of manifests that ended while their owners did not."""
        self.forced: set[str] = set()
        """Apps that somebody removed by force."""
        self.writes: Dying
        self.offline: Offline
        self.start()

    def start(self, guard: DeleteGuard | None = None, **dying: Any) -> None:
        """Start the compiler, as after a crash: nothing but the store is left."""
        self.writes = Dying()
        for name, value in dying.items():
            setattr(self.writes, name, value)
        self.offline = Offline(LOADED, store=self.store, write=self.writes, guard=guard)
        self.writes.target = self.offline.local

    async def sync(self, operation: str, name: str, data: Document | None = None, **options: Any) -> None:
        """One request of a user."""
        uuid = manifest_uuid("app", ("shop", name))
        body = {"uuid": uuid} if operation == "DELETE" else {"uuid": uuid, "fq_name": ["shop", name], **(data or {})}
        await self.offline.server.sync([{"kind": "app", "operation": operation, "data": body, **options}])

    async def work(self, steps: int | None = None) -> None:
        """Let engine and cluster work until nothing is left to do, or for some steps of the cluster."""
        await self.offline.settle()
        await self.check()
        while (steps is None or steps > 0) and await self.cluster.step(self.offline):
            await self.check()
            await self.offline.settle()
            steps = None if steps is None else steps - 1
            await self.check()

    async def documents(self, kind: str) -> dict[str, Document]:
        """Name → each stored resource of a kind."""
        found = {}
        for item in (await self.store.range(f"/contrail/{kind}/", f"/contrail/{kind}0")).items:
            document = msgspec.json.decode(item.value)
            found[document["fq_name"][-1]] = document
        return found

    async def revision(self) -> int:
        """How far the store has come."""
        return (await self.store.range("/", "0")).revision

    async def check(self) -> None:
        """What holds at any moment: children go in order, and nothing is left of an app that is gone."""
        apps, manifests = await self.documents("app"), await self.documents("manifest")
        for place in self.cluster.objects:
            kind, name = place.split()[0], place.rpartition("/")[2]
            assert any(m["target"]["kind"] == kind and m["target"]["name"] == name for m in manifests.values()), (
                f"{place} has no manifest; there are {sorted(manifests)}"
            )
        self.ended_before &= {document["uuid"] for document in manifests.values() if _ends(document)}
        for document in manifests.values():
            name = document["target"]["name"]
            assert name in apps or name in self.forced, f"{document['fq_name']} has no owner"
            if name not in self.forced:
                assert FINALIZER in apps[name]["metadata"].get("finalizers", ()), (
                    f"{name} has no finalizer, but children"
                )
            ending = _ends(document)
            above = [
                other["fq_name"][-1]
                for other in manifests.values()
                if other["target"]["name"] == name and other["phase"] > document["phase"]
            ]
            owner_ends = name not in apps or _ends(apps[name])
            if ending and not owner_ends:
                # The owner wants less, or has returned: that this one ends holds when the owner is deleted later.
                self.ended_before.add(document["uuid"])
            in_order = not (ending and owner_ends and above) or document["uuid"] in self.ended_before
            assert in_order, f"{document['fq_name']} goes before {above}"

    async def remove_by_force(self, name: str) -> None:
        """Delete an app and strip its finalizers, as impatient people do."""
        self.forced = self.forced | {name}
        await self.sync("DELETE", name)
        if name in await self.documents("app"):
            await self.sync("UPDATE", name, {"metadata": {}}, field_mask={"paths": ["metadata.finalizers"]})

    async def assert_done(self, expected: Mapping[str, Document]) -> None:
        """Nothing is left to do, and what is there follows from the apps that are left."""
        assert not await self.cluster.step(self.offline)
        apps = await self.documents("app")
        assert sorted(apps) == sorted(expected)
        for document in apps.values():
            assert document["metadata"].get("finalizers") == [FINALIZER]
        places = {f"{kind} shop/{name}" for name, fields in expected.items() for kind in PHASES
                  if kind != "Job" or fields.get("migration")}  # fmt: skip
        assert set(self.cluster.objects) == places
        assert len(await self.documents("manifest")) == len(await self.documents("observed")) == len(places)
        for document in (await self.documents("manifest")).values():
            assert document["metadata"]["finalizers"] == [CARRIED_OUT]
            assert "deletionTimestamp" not in document["metadata"]
        before = await self.revision()
        self.start()
        await self.work()
        assert await self.revision() == before, "another process writes nothing"


def _ends(document: Document) -> bool:
    return "deletionTimestamp" in document["metadata"]
