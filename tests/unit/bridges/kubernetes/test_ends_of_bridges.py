"""A bridge that is killed between any two writes, or a store that is lost, changes nothing in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import pytest

from intentc.outgoing import FINALIZER as CARRIED_OUT
from tests.support.app.compiler import FINALIZER
from tests.support.kube.fake_cluster import running_fake_cluster
from tests.unit.bridges.kubernetes.bridged_app import (
    APPS,
    CHILDREN,
    CONFIG_MAPS,
    DEPLOYMENTS,
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


async def _killed_at(system: BridgedApp, number: int, work: Callable[[], Awaitable[None]]) -> bool:
    """Let a bridge work until it has made so many writes to the cluster and to etcd, and kill it; whether it did."""
    with anyio.CancelScope() as scope:

        def count(what: object) -> None:
            nonlocal number
            number -= 1
            if number == 0:
                scope.cancel()

        system.cluster.on_write, system.on_answer = count, count
        async with system.bridging(f"killed-{number}"):
            await work()
    system.cluster.on_write, system.on_answer = lambda what: None, lambda what: None
    return scope.cancelled_caught


async def test_a_bridge_killed_between_any_two_writes_makes_everything_exactly_once() -> None:
    number, went_on = 0, True
    while went_on:
        number += 1
        async with running_fake_cluster(serve_all) as cluster:
            system = BridgedApp(cluster)
            cluster.put(APPS, app())
            went_on = await _killed_at(system, number, system.settled)
            async with system.bridging("next"):
                await system.settled()
                assert system.objects == CHILDREN
                created = [one for one in cluster.log if one.startswith("create ")]
                assert len(created) == len(set(created)) == len(CHILDREN)
                owner = system.owner()
                assert owner is not None
                assert owner["metadata"]["finalizers"] == [FINALIZER]
                written, revision = list(cluster.log), await system.revision()
            async with system.bridging("last"):
                await system.settled()
                assert (cluster.log, await system.revision()) == (written, revision)
    assert number > 15


async def test_a_bridge_killed_at_any_write_still_deletes_in_order() -> None:
    number, went_on = 0, True
    while went_on:
        number += 1
        async with running_fake_cluster(serve_all) as cluster:
            system = BridgedApp(cluster)
            cluster.put(APPS, app())
            async with system.bridging():
                await system.settled()
            cluster.delete(APPS, "web", "shop")
            cluster.log.clear()
            went_on = await _killed_at(system, number, system.settled)
            async with system.bridging("next"):
                await system.settled()
            assert system.owner() is None
            assert system.objects == []
            assert (
                await system.stored("manifest") == await system.stored("observed") == await system.stored("app") == {}
            )
            assert [one for one in cluster.log if not one.startswith("status ")] == [
                "delete Service shop/web",
                "delete Deployment shop/web",
                "delete Job shop/web",
                "delete ConfigMap shop/web",
                "finalizers App shop/web",
            ]
    assert number > 10


async def test_a_lost_store_is_filled_again_without_a_write_to_the_cluster(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
    written = list(system.cluster.log)
    manifests = await system.stored("manifest")
    await system.empty()
    system.restart_compiler()
    async with system.bridging("two"):
        await system.settled()
        assert system.cluster.log == written
        again = await system.stored("manifest")
        assert {name: one["uuid"] for name, one in again.items()} == {
            name: one["uuid"] for name, one in manifests.items()
        }
        assert all(one["metadata"]["finalizers"] == [CARRIED_OUT] for one in again.values())
        assert (await system.stored("app"))["web"]["metadata"]["finalizers"] == [FINALIZER]


async def test_a_store_that_is_lost_while_an_owner_ends_keeps_the_order(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
    system.cluster.delete(APPS, "web", "shop")
    await system.empty()
    system.restart_compiler()
    system.cluster.log.clear()
    async with system.bridging("two"):
        await system.settled()
    assert [one for one in system.cluster.log if not one.startswith("status ")] == [
        "delete Service shop/web",
        "delete Deployment shop/web",
        "delete Job shop/web",
        "delete ConfigMap shop/web",
        "finalizers App shop/web",
    ]
    assert system.owner() is None


async def test_a_store_that_is_lost_under_a_running_bridge_is_filled_again(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
        written = list(system.cluster.log)
        await system.empty()
        system.restart_compiler()
        await system.settled()
        assert system.cluster.log == written
        assert len(await system.stored("manifest")) == len(CHILDREN)


async def test_an_object_of_ours_that_no_manifest_names_is_removed(system: BridgedApp) -> None:
    system.cluster.put(APPS, app())
    async with system.bridging():
        await system.settled()
    found = system.cluster.objects[CONFIG_MAPS][WEB]
    await system.empty()
    system.restart_compiler()
    theirs = {**found, "metadata": {**found["metadata"], "name": "copied", "uid": "1"}}
    system.cluster.put(CONFIG_MAPS, theirs)
    system.cluster.remove(APPS, "web", "shop")
    async with system.bridging("two"):
        await system.settled()
        # Somebody copied labels and annotations to an object of their own.
        assert system.objects == ["ConfigMap shop/copied"]
        assert await system.stored("manifest") == {}


async def test_a_bridge_without_rights_to_a_kind_reports_it_and_applies_the_rest(system: BridgedApp) -> None:
    del system.cluster.kinds[DEPLOYMENTS]
    system.cluster.put(APPS, app())
    async with system.bridging() as bridge:
        await system.settled()
        assert system.objects == ["ConfigMap shop/web", "Job shop/web", "Service shop/web"]
        rejected = (await system.stored("observed"))["deployment.apps--web"]["rejected"]
        assert rejected == "the cluster has no Deployment of apps/v1"
        assert bridge.status()["manifests"]["kinds"]["Deployment of apps/v1"] == "absent"
        system.cluster.delete(APPS, "web", "shop")
        await system.settled()
        assert system.owner() is None
