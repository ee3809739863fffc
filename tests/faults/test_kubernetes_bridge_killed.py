"""The bridge's process is killed at each of its crash points: amid copies, deletions, marks, statuses and Events.

As F02 for compilers, over a real etcd, an API server over HTTP, and a cluster in this process.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import NotFound
from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd
from intentc.loading.schemas import load_schema
from intentc.model import Schema
from intentc.model.bridge_keys import ProblemReport, ReportedProblem, problem_reports_prefix
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete, Put, prefix_end
from tests.faults.scale import KILL_PATIENCE, VISITS
from tests.faults.scale_writing import seeded
from tests.support.crash_points import BRIDGE_POINTS
from tests.support.kube.fake_cluster import FakeCluster, running_fake_cluster
from tests.support.kube.mirrored_system import MAPPINGS, NAMES, mapping
from tests.support.processes import Process, start
from tests.support.secret_search import assert_shows_none, in_files
from tests.support.waiting import pauses, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SIGKILLED = -9
TOKEN = "token-of-the-cluster-4711"
PATH = "bridge-killed"
_ONCE = {"cluster.page", "lease.won", "mark.written"}
"""Points to which a process comes once, at its start."""
CRASHES = [
    f"{point}:{visit}" for visit in VISITS for point in sorted(BRIDGE_POINTS) if visit == 1 or point not in _ONCE
]


class _World:
    """A cluster, an etcd with its API server, and bridges as processes."""

    def __init__(self, cluster: FakeCluster, store: EtcdStore, schema: Schema, folder: Path) -> None:
        self.cluster = cluster
        self.store = store
        self.api = ApiServer(store, schema, path=PATH, max_txn_ops=1024)
        self.chance = seeded()
        self.configuration = folder / "configuration.yml"
        self._folder = folder
        self._started = 0

    def start(self, crash: str = "") -> Process:
        self._started += 1
        command = ["kubernetes", "--diagnostics", "127.0.0.1:0", "--config-file", str(self.configuration)]
        return start(command, self._folder / f"{self._started}.log", {}, crash)

    async def copies(self) -> dict[str, dict[str, Any]]:
        prefix = f"/{PATH}/mapping/"
        found = await self.store.range(prefix, prefix_end(prefix))
        documents = [msgspec.json.decode(item.value) for item in found.items]
        return {document["uuid"]: document for document in documents}

    async def same(self) -> bool:
        """Whether copies and objects are the same, and each status of a copy is in the cluster."""
        copies = {
            uid: (copy["fq_name"][1], copy["weight"], copy.get("status", {}).get("reason", ""))
            for uid, copy in (await self.copies()).items()
        }
        return copies == {
            one["metadata"]["uid"]: (
                one["metadata"]["name"],
                one["spec"]["weight"],
                one.get("status", {}).get("reason", ""),
            )
            for one in self.cluster.objects[MAPPINGS].values()
        }

    async def reported(self) -> bool:
        """Whether each report on an object that is there is an Event on it."""
        prefix = problem_reports_prefix(PATH, PATH)
        there = {one["metadata"]["uid"] for one in self.cluster.objects[MAPPINGS].values()}
        wanted = {
            (uid, one.message)
            for item in (await self.store.range(prefix, prefix_end(prefix))).items
            for one in msgspec.json.decode(item.value, type=ProblemReport).problems
            if (uid := item.key.rpartition("/")[2]) in there
        }
        return wanted <= {(one["regarding"]["uid"], one["note"]) for one in self.cluster.events.values()}

    async def change(self) -> None:
        """Some objects change, one goes, one comes back, and compilers report on the copies that are there."""
        names = self.chance.sample(NAMES, 6)
        for name in names[:4]:
            self.cluster.put(MAPPINGS, mapping(name, weight=self.chance.randrange(1, 90)))
        for name in names[4:]:
            if ("shop", name) in self.cluster.objects[MAPPINGS]:
                self.cluster.delete(MAPPINGS, name, "shop")
        self.cluster.put(MAPPINGS, mapping(names[5], weight=1))
        claims = {"installation": PATH, "items": ["reason", "state"]}
        for uid in sorted(await self.copies())[:3]:
            status = {"state": "Inactive", "reason": f"because of {self.chance.randrange(90)}"}
            data: dict[str, Any] = {"uuid": uid, "status": status, "status_claims": claims}
            # The bridge may have deleted it meanwhile.
            with suppress(NotFound):
                await self.api.sync([{"kind": "mapping", "operation": "UPDATE_STATUS", "data": data}])
            report = ProblemReport((ReportedProblem("Inactive", data["status"]["reason"]),))
            key = f"{problem_reports_prefix(PATH, PATH)}mapping/{uid}"
            await self.store.transaction([], [Put(key, msgspec.json.encode(report))])


@pytest.fixture
async def killed(etcd: Etcd, etcd_store: EtcdStore, tmp_path: Path) -> AsyncIterator[_World]:
    schema = load_schema("ambassador")
    async with (
        running_fake_cluster(lambda made: made.serve(MAPPINGS, "Mapping")) as cluster,
        running_api_server(etcd_store, schema, path=PATH, max_txn_ops=1024) as server,
    ):
        cluster.token = TOKEN
        contexts = [{"name": "x", "context": {"cluster": "c", "user": "u"}}]
        users = [{"name": "u", "user": {"token": TOKEN}}]
        clusters = [{"name": "c", "cluster": {"server": cluster.url}}]
        kubeconfig = {"clusters": clusters, "contexts": contexts, "current-context": "x", "users": users}
        (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
        configuration = {
            "etcd": {"endpoints": [etcd.endpoint], "path": PATH},
            "client": {"endpoint": server.url},
            "no_auth": True,
            "intentc": {
                "installation": PATH,
                "compilers": ["ambassador"],
                "kubernetes": {"kubeconfig": str(tmp_path / "kubeconfig"), "kinds": ["mapping"]},
            },
        }
        for name in NAMES:
            cluster.put(MAPPINGS, mapping(name, weight=5))
        world = _World(cluster, etcd_store, schema, tmp_path)
        world.configuration.write_text(json.dumps(configuration))
        yield world
        for prefix in (
            f"/{PATH}/",
            f"/intentc/{PATH}/",
            f"/intentc/synced/{PATH}/",
            problem_reports_prefix(PATH),
        ):
            await etcd_store.transaction([], [Delete(prefix, prefix_end(prefix))])


async def test_a_bridge_that_is_killed_at_a_crash_point_costs_nothing_but_time(killed: _World, tmp_path: Path) -> None:
    for crash in CRASHES:
        await killed.store.transaction([], [Delete(f"/intentc/synced/{PATH}/mapping")])
        await killed.change()
        doomed = killed.start(crash)
        with anyio.fail_after(KILL_PATIENCE):
            for pause in pauses():
                await anyio.sleep(pause)
                if not doomed.alive:
                    break
                await killed.change()
        assert doomed.process.wait() == SIGKILLED, doomed.log[-3000:]
    bridge = killed.start()
    await until_true(killed.same)
    await until_true(killed.reported)
    assert await bridge.terminate() == 0
    before, version, events = await killed.copies(), killed.cluster.version, dict(killed.cluster.events)
    said = [(one["regarding"]["uid"], one["note"]) for one in events.values()]
    assert len(said) == len(set(said)), "no problem has two Events"
    again = killed.start()

    async def converged() -> bool:
        status = await again.status()
        return bool(status["converged"] and status["leading"])

    await until_true(converged)
    status = await again.status()
    assert status["counters"] == {}
    assert await again.terminate() == 0
    places = {**in_files(tmp_path, "*.log"), "status": status, "events": list(events.values()), "copies": before}
    assert_shows_none(places, [TOKEN])
    assert len(before) >= 20
    assert (await killed.copies(), killed.cluster.version) == (before, version)
    assert killed.cluster.events == events
