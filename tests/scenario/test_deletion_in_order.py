"""What an app makes in a cluster is deleted in order, over restarts and faults, and its finalizer is removed last."""

from __future__ import annotations

import pytest

from intentc.planning import DeleteGuard
from intentc.testing import UpdateStatus
from tests.support.app_system import APP, AppSystem, Killed

pytestmark = pytest.mark.anyio

CREATED = ["create ConfigMap shop/web", "create Job shop/web", "create Service shop/web", "create Deployment shop/web"]
ENDED = [
    f"{verb} {kind} shop/web" for kind in ("Service", "Deployment", "Job", "ConfigMap") for verb in ("delete", "gone")
]


async def running() -> AppSystem:
    system = AppSystem()
    await system.sync("CREATE", "web", APP)
    await system.work()
    return system


async def test_an_app_is_made_and_deleted_in_order() -> None:
    system = await running()
    assert system.cluster.log == CREATED
    await system.assert_done({"web": APP})
    system.cluster.log.clear()
    await system.sync("DELETE", "web")
    await system.work()
    assert system.cluster.log == ENDED
    await system.assert_done({})


async def conditions(system: AppSystem) -> dict[str, tuple[str, str]]:
    """Type → status and reason of each condition of the app."""
    found = (await system.documents("app"))["web"]["status"]["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


async def test_conditions_follow_what_is_observed() -> None:
    system = AppSystem()
    system.cluster.hold_back("Job", "web", "shop")
    await system.sync("CREATE", "web", APP)
    await system.work()
    assert await conditions(system) == {"Migrated": ("False", "Running"), "Ready": ("False", "NotDeployed")}
    system.cluster.let_go("Job", "web", "shop")
    system.cluster.hold_back("Deployment", "web", "shop")
    await system.work()
    assert await conditions(system) == {"Migrated": ("True", "Done"), "Ready": ("Unknown", "Progressing")}
    system.cluster.let_go("Deployment", "web", "shop")
    await system.work()
    assert await conditions(system) == {"Migrated": ("True", "Done"), "Ready": ("True", "Available")}
    assert (await system.documents("app"))["web"]["status"]["address"] == "192.0.2.1"
    await system.assert_done({"web": APP})
    system.cluster.hold_back("Deployment", "web", "shop")
    system.cluster.set_status("Deployment", "web", "shop", conditions=[{"type": "Available", "status": "False"}])
    await system.work()
    assert (await conditions(system))["Ready"] == ("False", "Unavailable")
    await system.sync("UPDATE", "web", {"migration": None, "image": ""})
    await system.work()
    assert await conditions(system) == {"Ready": ("False", "NoImage")}


async def test_the_status_is_reported_while_the_app_is_being_deleted() -> None:
    system = await running()
    system.cluster.hold_back("Deployment", "web", "shop")
    await system.sync("DELETE", "web")
    await system.work()
    system.cluster.set_status("Deployment", "web", "shop", conditions=[{"type": "Available", "status": "False"}])
    await system.work()
    assert (await conditions(system))["Ready"] == ("False", "Unavailable")
    assert "address" not in (await system.documents("app"))["web"]["status"], "the Service is gone"


async def test_the_finalizer_is_stored_before_anything_is_made() -> None:
    system = AppSystem()
    await system.sync("CREATE", "web", APP)
    await system.offline.settle()
    made = [one for one in system.writes.written if not isinstance(one, UpdateStatus)]
    assert [str(type(one).__name__) for one in made] == ["Update", "Create", "Create", "Create"]
    assert made[0].properties == {"metadata.finalizers": ("example.com/app",)}  # type: ignore[union-attr]


async def test_the_next_phase_waits_until_the_former_is_seen_gone() -> None:
    system = await running()
    system.cluster.hold_back("Deployment", "web", "shop")
    await system.sync("DELETE", "web")
    await system.work()
    assert system.cluster.objects == ("ConfigMap shop/web", "Deployment shop/web", "Job shop/web")
    ending = {
        name for name, one in (await system.documents("manifest")).items() if "deletionTimestamp" in one["metadata"]
    }
    assert ending == {"deployment.apps--web"}
    assert (await system.documents("app"))["web"]["metadata"]["finalizers"] == ["example.com/app"]
    system.start()
    await system.work()
    assert system.cluster.objects == ("ConfigMap shop/web", "Deployment shop/web", "Job shop/web"), (
        "after a restart, too"
    )
    system.cluster.let_go("Deployment", "web", "shop")
    await system.work()
    await system.assert_done({})


@pytest.mark.parametrize("made", [False, True], ids=["before", "after"])
async def test_a_process_killed_at_each_write_goes_on_where_the_store_stands(made: bool) -> None:
    kills = 0
    system = AppSystem()
    await system.sync("CREATE", "web", APP)
    for operation in ("", "DELETE"):
        if operation:
            await system.sync(operation, "web")
        for _ in range(40):
            # Each process dies at its first write, so that each write is one at which a process died. A write that was
            # not made is made by the process after.
            system.start(dies_at=1 if made else 2, made=made)
            try:
                await system.work()
                break
            except Killed:
                kills += 1
                await system.check()
        else:
            pytest.fail("it never ends")
        await system.assert_done({"web": APP} if not operation else {})
    assert kills >= (8 if made else 4)


async def test_answers_that_are_lost_repeat_nothing() -> None:
    system = AppSystem()
    system.writes.lost = set(range(1, 40, 2))
    await system.sync("CREATE", "web", APP)
    await system.work()
    assert system.cluster.log == CREATED
    await system.sync("DELETE", "web")
    await system.work()
    assert system.cluster.log == CREATED + ENDED
    await system.assert_done({})


async def test_an_app_that_is_removed_by_force_leaves_nothing() -> None:
    system = await running()
    system.cluster.log.clear()
    await system.remove_by_force("web")
    await system.work()
    assert system.cluster.log == ENDED, "in the same order"
    await system.assert_done({})


async def test_an_app_that_was_removed_by_force_while_no_compiler_ran_leaves_nothing() -> None:
    system = await running()
    system.cluster.log.clear()
    await system.remove_by_force("web")
    system.start()
    await system.work()
    assert system.cluster.log == ENDED
    await system.assert_done({})


async def test_an_app_that_wants_less_loses_only_that() -> None:
    system = await running()
    system.cluster.log.clear()
    await system.sync("UPDATE", "web", {"migration": None})
    await system.work()
    assert system.cluster.log == ["delete Job shop/web", "gone Job shop/web"], "what stays holds up nothing"
    await system.assert_done({"web": {**APP, "migration": None}})


async def test_a_new_version_runs_its_job_again_and_keeps_its_deployment() -> None:
    system = await running()
    system.cluster.log.clear()
    await system.sync("UPDATE", "web", {"image": "web:2"})
    await system.work()
    log = system.cluster.log
    assert [line for line in log if "Job" in line] == [
        "delete Job shop/web", "gone Job shop/web", "create Job shop/web"
    ]  # fmt: skip
    assert "update Deployment shop/web" in log
    assert not any(line.startswith("delete Deployment") for line in log)
    await system.assert_done({"web": APP})


async def test_a_job_that_the_cluster_removed_once_done_is_not_made_again() -> None:
    system = await running()
    system.cluster.remove("Job", "web", "shop")
    await system.work()
    assert "Job shop/web" not in system.cluster.objects
    observed = (await system.documents("observed"))["job.batch--web"]
    assert observed["done"] and observed["gone"]
    system.start()
    await system.work()
    assert "Job shop/web" not in system.cluster.objects


async def test_an_app_that_can_t_be_compiled_keeps_all_and_can_be_deleted() -> None:
    system = await running()
    await system.sync("UPDATE", "web", {"image": None})
    await system.work()
    assert [problem.reason for problem in system.offline.problems()] == ["OnHold"]
    await system.assert_done({"web": APP})
    await system.sync("DELETE", "web")
    await system.work()
    await system.assert_done({})


async def test_an_app_on_hold_delays_the_end_of_no_other_after_a_restart() -> None:
    system = await running()
    await system.sync("CREATE", "mail", {**APP, "image": ""})
    await system.sync("DELETE", "web")
    system.start()
    await system.work()
    assert sorted(await system.documents("app")) == ["mail"]
    assert system.cluster.objects == ()


async def test_an_app_that_never_made_anything_is_deleted_at_once() -> None:
    system = AppSystem()
    await system.sync("CREATE", "web", {**APP, "image": ""})
    await system.work()
    assert "finalizers" not in (await system.documents("app"))["web"]["metadata"]
    await system.sync("DELETE", "web")
    await system.work()
    await system.assert_done({})


async def test_an_app_that_returns_is_made_anew() -> None:
    system = await running()
    await system.sync("DELETE", "web")
    await system.work(3)
    await system.remove_by_force("web")
    await system.sync("CREATE", "web", APP)
    await system.work()
    assert set(system.cluster.objects) == {f"{line.split(' ', 1)[1]}" for line in CREATED}


async def test_what_somebody_else_made_is_reported_and_stays() -> None:
    system = AppSystem()
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "web", "namespace": "shop"},
        "data": {"a": "b"},
    }
    system.cluster.put(theirs)
    await system.sync("CREATE", "web", APP)
    await system.offline.settle()
    while await system.cluster.step(system.offline):
        await system.offline.settle()
    observed = (await system.documents("observed"))["configmap--web"]
    assert observed["rejected"] == "ConfigMap shop/web was made by somebody else; rename or delete it"
    await system.sync("DELETE", "web")
    await system.offline.settle()
    while await system.cluster.step(system.offline):
        await system.offline.settle()
    assert await system.documents("app") == await system.documents("manifest") == {}
    assert (system.cluster.get("ConfigMap", "web", "shop") or {})["data"] == {"a": "b"}


async def test_drift_in_the_cluster_is_repaired_and_what_others_add_stays() -> None:
    system = await running()
    deployment = system.cluster.get("Deployment", "web", "shop")
    assert deployment is not None
    deployment["spec"]["replicas"] = 9
    deployment["spec"]["paused"] = True
    system.cluster.put(deployment)
    system.cluster.log.clear()
    await system.work()
    assert system.cluster.log == ["update Deployment shop/web"]
    spec = (system.cluster.get("Deployment", "web", "shop") or {})["spec"]
    assert (spec["replicas"], spec["paused"]) == (2, True)


async def test_a_heartbeat_in_the_cluster_writes_nothing() -> None:
    system = await running()
    before = await system.revision()
    system.cluster.set_status("Deployment", "web", "shop", observedGeneration=7)
    await system.work()
    assert await system.revision() == before


async def test_the_cluster_s_words_reach_the_owner_s_side() -> None:
    system = AppSystem()
    system.cluster.reject("ConfigMap", "web", "shop", words="namespaces shop not found")
    await system.sync("CREATE", "web", APP)
    await system.work()
    assert (await system.documents("observed"))["configmap--web"]["rejected"] == "namespaces shop not found"
    system.cluster.let_go("ConfigMap", "web", "shop")
    await system.work()
    await system.assert_done({"web": APP})


async def mirror(system: AppSystem, **metadata: object) -> None:
    """What a bridge writes when it sees the app in a cluster: without the finalizers that compilers declare."""
    data = {**APP, "metadata": {"generation": 1, **metadata}}
    there = "web" in await system.documents("app")
    await system.sync("UPDATE" if there else "CREATE", "web", data, mirror={"our_finalizers": ["example.com/app"]})


async def test_an_app_that_is_mirrored_from_a_cluster_ends_when_the_cluster_says_so() -> None:
    system = AppSystem()
    await mirror(system, finalizers=["example.com/other"])
    await system.work()
    finalizers = ["example.com/other", "example.com/app"]
    assert (await system.documents("app"))["web"]["metadata"]["finalizers"] == finalizers, "the bridge carries it out"
    await mirror(system, finalizers=["example.com/other"], deletionTimestamp="2026-01-01T00:00:00Z")
    await system.work()
    assert system.cluster.objects == ()
    assert (await system.documents("app"))["web"]["metadata"]["finalizers"] == ["example.com/other"]
    await mirror(system, deletionTimestamp="2026-01-01T00:00:00Z")
    await system.work()
    assert sorted(await system.documents("app")) == ["web"], "the cluster removes it, and the bridge follows"
    await system.sync("DELETE", "web")
    await system.work()
    assert await system.documents("app") == await system.documents("manifest") == {}


async def test_a_finalizer_that_somebody_removes_is_written_again() -> None:
    system = await running()
    await system.sync("UPDATE", "web", {"metadata": {}}, field_mask={"paths": ["metadata.finalizers"]})
    await system.work()
    await system.assert_done({"web": APP})


async def test_a_finalizer_of_a_compiler_that_nobody_claims_is_removed() -> None:
    system = AppSystem()
    theirs = ["example.com/app", "example.com/other"]
    await system.sync("CREATE", "web", {**APP, "image": "", "metadata": {"finalizers": theirs}})
    await system.work()
    assert (await system.documents("app"))["web"]["metadata"]["finalizers"] == theirs, (
        "it is on hold: what it wants is unknown"
    )
    await system.sync("DELETE", "web")
    await system.work()
    assert (await system.documents("app"))["web"]["metadata"]["finalizers"] == theirs[1:]


async def test_objects_of_owners_that_end_need_no_approval_after_a_restart() -> None:
    system = AppSystem()
    names = [f"app-{number}" for number in range(5)]
    for name in names:
        await system.sync("CREATE", name, APP)
    await system.work()
    assert len(system.cluster.objects) == 20
    for name in names:
        await system.sync("DELETE", name)
    system.start(guard=DeleteGuard(max_deletes=3))
    await system.offline.settle()
    assert not system.offline.engine.planner.guard.withheld
    await system.work()
    await system.assert_done({})
