"""What the compiler of apps makes is in the cluster, whatever happens to bridge, store and cluster meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from intentc.bridges.kubernetes import applying
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.manifest_reconciler import AT_ONCE
from tests.support.app.compiler import FINALIZER
from tests.support.kube.fake_cluster import running_fake_cluster
from tests.unit.bridges.kubernetes.bridged_app import (
    APPS,
    CHILDREN,
    CONFIG_MAPS,
    DEPLOYMENTS,
    JOBS,
    SERVICES,
    BridgedApp,
    app,
    serve_all,
)

pytestmark = pytest.mark.anyio
WEB = ("shop", "web")


@pytest.fixture
async def system() -> AsyncIterator[BridgedApp]:
    async with running_fake_cluster(serve_all) as cluster:
        yield BridgedApp(cluster)


async def test_children_are_created_in_order_and_their_state_comes_back(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging() as bridge:
        await system.settled()
        assert system.objects == CHILDREN
        created = [one for one in system.cluster.log if one.startswith("create ")]
        assert created.index("create ConfigMap shop/web") < created.index("create Job shop/web")
        assert created.index("create Job shop/web") < created.index("create Deployment shop/web")
        owner = system.owner()
        assert owner is not None
        assert owner["metadata"]["finalizers"] == [FINALIZER]
        assert owner["status"]["address"] == "192.0.2.1"
        assert {one["type"]: one["status"] for one in owner["status"]["conditions"]} == {
            "Migrated": "True",
            "Ready": "True",
        }
        assert bridge.status()["attention"] == []
        observed = await system.stored("observed")
        assert observed["deployment.apps--web"]["available"] is True


async def test_objects_of_one_phase_are_written_at_the_same_time(
    system: BridgedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        system.cluster.put(APPS, app(f"web{number}"))
    apply, under_way, most = applying.apply, Counter[str](), 0

    async def counted(cluster: Cluster, path: str, body: Mapping[str, Any], uid: str, **options: bool) -> bytes:
        nonlocal most
        assert not under_way[path]
        under_way[path] += 1
        most = max(most, under_way.total())
        # Those of two phases are never written at the same time.
        assert not any("configmaps" in one for one in +under_way) or not any("deployments" in one for one in +under_way)
        try:
            return await apply(cluster, path, body, uid, **options)
        finally:
            under_way[path] -= 1

    monkeypatch.setattr(applying, "apply", counted)
    async with system.bridging():
        await system.settled()
    assert sum(one.startswith("create Deployment ") for one in system.cluster.log) == 12
    assert 1 < most <= AT_ONCE


async def test_a_second_pass_writes_nothing(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
    written, revision = list(system.cluster.log), await system.revision()
    system.restart_compiler()
    async with system.bridging("two") as bridge:
        await system.settled()
        assert (system.cluster.log, await system.revision()) == (written, revision)
        assert not any(part.counters for part in bridge.parts)


async def test_a_heartbeat_writes_nothing(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        revision = await system.revision()
        found = system.cluster.objects[DEPLOYMENTS][WEB]
        system.cluster.put(DEPLOYMENTS, {**found, "status": {**found["status"], "observedGeneration": 7}})
        await system.settled()
        assert await system.revision() == revision


async def test_drift_is_repaired_and_what_others_own_stays(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        found = system.cluster.objects[DEPLOYMENTS][WEB]
        theirs = {**found["spec"], "paused": True}
        del theirs["replicas"]
        system.cluster.put(DEPLOYMENTS, {**found, "spec": theirs}, manager="kubectl-edit")
        system.cluster.remove(SERVICES, "web", "shop")
        await system.settled()
        found = system.cluster.objects[DEPLOYMENTS][WEB]
        assert (found["spec"]["replicas"], found["spec"]["paused"]) == (2, True)
        assert system.objects == CHILDREN


async def test_a_field_that_another_manager_took_is_reported_with_its_name_and_left(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging() as bridge:
        await system.settled()
        found = system.cluster.objects[DEPLOYMENTS][WEB]
        system.cluster.put(DEPLOYMENTS, {**found, "spec": {**found["spec"], "replicas": 9}}, manager="autoscaler")
        await system.settled()
        assert system.cluster.objects[DEPLOYMENTS][WEB]["spec"]["replicas"] == 9
        words = (await system.stored("observed"))["deployment.apps--web"]["rejected"]
        assert 'conflict with "autoscaler"' in words
        assert ".spec.replicas" in words
        assert bridge.status()["attention"][0].startswith("Deployment shop/web is not carried out: Apply failed")
        (event,) = system.cluster.events.values()
        assert event["regarding"]["name"] == "web"
        assert event["regarding"]["kind"] == "App"
        assert "autoscaler" in event["note"]
        owner = system.owner()
        assert owner is not None
        assert "autoscaler" in next(one for one in owner["status"]["conditions"] if one["type"] == "Ready")["message"]
        system.cluster.put(APPS, app(replicas=9))
        await system.settled()
        assert "rejected" not in (await system.stored("observed"))["deployment.apps--web"]
        assert bridge.status()["attention"] == []
        assert len(system.cluster.events) == 1


async def test_an_object_that_somebody_else_made_is_never_touched(system: BridgedApp) -> None:
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "shop"}, "data": {}}
    stored = system.cluster.put(CONFIG_MAPS, theirs, manager="people")
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        observed = (await system.stored("observed"))["configmap--web"]
        assert observed["taken"] is True
        assert observed["rejected"] == "ConfigMap shop/web was made by somebody else; rename or delete it"
        system.cluster.delete(APPS, "web", "shop")
        await system.settled()
        assert system.owner() is None
        assert system.cluster.objects[CONFIG_MAPS][WEB] == stored
        assert system.objects == ["ConfigMap shop/web"]


async def test_an_owner_that_is_deleted_ends_after_its_children_in_order(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        held = system.cluster.objects[DEPLOYMENTS][WEB]
        kept = {**held, "metadata": {**held["metadata"], "finalizers": ["example.org/slow"]}}
        system.cluster.put(DEPLOYMENTS, kept)
        system.cluster.delete(APPS, "web", "shop")
        await system.until_children("ConfigMap shop/web", "Deployment shop/web", "Job shop/web")
        await system.settled()
        assert system.objects == ["ConfigMap shop/web", "Deployment shop/web", "Job shop/web"]
        assert system.owner() is not None
        system.cluster.remove(DEPLOYMENTS, "web", "shop")
        await system.settled()
        deleted = [one for one in system.cluster.log if one.startswith(("delete ", "finalizers "))]
        assert deleted[-5:] == [
            "delete Service shop/web",
            "delete Deployment shop/web",
            "delete Job shop/web",
            "delete ConfigMap shop/web",
            "finalizers App shop/web",
        ]
        assert system.owner() is None
        assert await system.stored("manifest") == await system.stored("observed") == await system.stored("app") == {}


async def test_an_immutable_change_means_delete_and_create(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        before = system.cluster.objects[JOBS][WEB]["metadata"]["uid"]
        system.cluster.put(APPS, app(image="web:2"))
        await system.settled()
        assert system.cluster.objects[JOBS][WEB]["metadata"]["uid"] != before
        assert system.cluster.log[-3:] != []


async def test_a_job_that_is_done_and_then_removed_is_not_run_again(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
    system.cluster.remove(JOBS, "web", "shop")
    async with system.bridging("two"):
        await system.settled()
        assert "Job shop/web" not in system.objects
        system.cluster.put(APPS, app(migration="migrate more"))
        await system.settled()
        assert "Job shop/web" in system.objects


async def test_a_job_that_ends_and_disappears_at_once_is_done(system: BridgedApp) -> None:
    system.is_acting = False
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.until_children("ConfigMap shop/web", "Job shop/web", "Service shop/web")
        done = {"conditions": [{"type": "Complete", "status": "True"}]}
        system.cluster.put(JOBS, {**system.cluster.objects[JOBS][WEB], "status": done})
        system.cluster.remove(JOBS, "web", "shop")
        system.is_acting = True
        await system.settled()
        assert "Job shop/web" not in system.objects
        assert "Deployment shop/web" in system.objects


async def test_an_object_at_which_the_server_fails_is_reported_and_the_others_are_made(system: BridgedApp) -> None:
    system.cluster.failing["/api/v1/namespaces/shop/configmaps/web"] = 500
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.until_children(*CHILDREN[1:])
        await system.settled()
        assert (await system.stored("observed"))["configmap--web"]["rejected"] == "no such field (500)"
        system.cluster.failing.clear()
        await system.until_children(*CHILDREN)


@pytest.mark.parametrize("status", [403, 410, 500])
async def test_an_object_that_can_t_be_read_waits_alone(system: BridgedApp, status: int) -> None:
    system.cluster.unreadable["/api/v1/namespaces/shop/configmaps/web"] = status
    system.cluster.put(APPS, app())
    async with system.bridging() as bridge:
        await system.until_children(*CHILDREN[1:])
        assert any("not for you" in line for line in bridge.status()["attention"])
        system.cluster.unreadable.clear()
        await system.until_children(*CHILDREN)
        await system.settled()
        assert bridge.status()["attention"] == []
