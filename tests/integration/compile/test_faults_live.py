"""What goes wrong around the compiler: unreadable values, servers that stop and come back, two API servers at once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import partial

import msgspec
import pytest
from anyio.to_thread import run_sync

from intentc.dev.etcd_server import Etcd
from intentc.engine.api_throttle import ApiServerProbe
from intentc.plugins import Loaded
from intentc.service import service as service_module
from intentc.watch.etcd import EtcdStore
from tests.support.contrail_content import LOCAL, group, instance_targets, network, rule, rules, targets, tenant
from tests.support.live_system import LiveSystem, counted_world
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

RULE = "bdf042c0-0000-4000-8000-000000000001"
NEVER_READABLE = "5b0f0000-0000-4000-8000-0000000000ff"


@pytest.fixture
async def world_on_fresh_etcd(
    fresh_etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LiveSystem]:
    """A world whose etcd may be stopped, with an API server."""
    async with counted_world(fresh_etcd_store, loaded, monkeypatch) as made, made.serving():
        yield made


async def test_malformed_json_is_reported_and_affects_nothing_else_over_a_restart(
    world: LiveSystem, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.compiling() as service:
        spoilt = (await tenant(world, 3))["security_group"][0]
        await world.settle(service)
        owned = {resource["uuid"] for resource in await world.owned()}
        good = msgspec.json.encode((await world.stored())["security_group"][spoilt])

        with caplog.at_level(logging.WARNING):
            await world.put_raw("security_group", spoilt, b'{"uuid": ')
            await world.put_raw("security_group", NEVER_READABLE, b"\xff\x00")
            await world.settle(service)
        status = service.status()
        unreadable = {f"security_group/{spoilt}", f"security_group/{NEVER_READABLE}"}
        assert unreadable <= set(status["held"])
        assert status["healthy"] is False
        reported = {problem["source"].partition("@")[0]: problem["name"] for problem in status["problems"]}
        named = msgspec.json.decode(good)["fq_name"]
        assert unreadable <= reported.keys()
        assert reported[f"security_group/{spoilt}"] == ":".join(named)
        assert all(any(name in line for line in caplog.messages) for name in (":".join(named), NEVER_READABLE))
        assert owned <= {resource["uuid"] for resource in await world.owned()}

        await world.create("security_group", "later", **rules(rule(RULE, group("group-1"), LOCAL)))
        await world.settle(service)
        assert len(await world.rules("later", "ingress") or []) == 1
        owned = {resource["uuid"] for resource in await world.owned()}

    async with world.compiling() as again:
        await world.settle(again)
        assert unreadable <= set(again.status()["held"])
        assert {resource["uuid"] for resource in await world.owned()} == owned
        await world.create("security_group", "latest", **rules(rule(RULE, group("group-2"), LOCAL)))
        await world.settle(again)
        assert len(await world.rules("latest", "ingress") or []) == 1

        await world.put_raw("security_group", spoilt, good)
        await world.delete_raw("security_group", NEVER_READABLE)
        await world.settle(again)
        assert again.status()["healthy"] is True
        assert again.status()["held"] == []
    await world.assert_compiled()


async def test_an_etcd_that_is_restarted_under_way_costs_nothing_but_the_pause(
    world_on_fresh_etcd: LiveSystem, fresh_etcd: Etcd
) -> None:
    world = world_on_fresh_etcd
    async with world.compiling() as service:
        await tenant(world, 3)
        await world.settle(service)
        before = {resource["uuid"] for resource in await world.owned()}
        assert len(before) >= 15

        await run_sync(fresh_etcd.stop)
        await until(lambda: not service.ready()[0])
        await run_sync(fresh_etcd.start)
        await until(lambda: service.ready()[0])

        await world.create("security_group", "later")
        await world.settle(service)
        assert len(await world.owned()) == len(before) + 2
        await world.assert_compiled()


async def test_an_etcd_that_is_killed_while_changes_come_in_loses_none_of_them(
    world_on_fresh_etcd: LiveSystem, fresh_etcd: Etcd
) -> None:
    """What the API server has acknowledged is compiled, whatever the compiler was doing when etcd was killed."""
    world = world_on_fresh_etcd
    async with world.compiling() as service:
        await tenant(world, 4)
        await run_sync(fresh_etcd.kill)
        await until(lambda: not service.ready()[0])
        await run_sync(fresh_etcd.start)
        await until(lambda: service.ready()[0])
        await world.create("security_group", "later")
        await world.settle(service)
        await world.assert_compiled()


async def test_changes_during_an_outage_of_the_api_server_are_written_afterwards(bare_world: LiveSystem) -> None:
    """The person speaks to another server on the same etcd, which stays."""
    world = bare_world
    async with world.serving(port=0) as persons:
        world.persons_url, world.port = persons.url, 0
        async with world.serving():
            """Its port is known from here on."""
        async with world.compiling() as service:
            async with world.serving():
                await network(world, "before")
                await world.settle(service)
                before = {resource["uuid"] for resource in await world.owned()}
            await tenant(world, 3)
            await until(lambda: any("the API server can't be reached" in reason for reason in service.ready()[1]))
            assert {resource["uuid"] for resource in await world.owned()} == before
            async with world.serving():
                await world.settle(service)
                assert service.ready() == (True, ())
                assert len(await world.owned()) >= 15
                await world.assert_compiled()


async def test_health_is_unknown_while_the_api_server_is_away(
    bare_world: LiveSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = bare_world
    monkeypatch.setattr(service_module, "ApiServerProbe", partial(ApiServerProbe, period=0.1))
    async with world.serving():
        """Its port is known from here on."""
    async with world.compiling() as service:
        async with world.serving():
            await network(world, "before")
            await world.settle(service)
            await until(lambda: service.status()["unknown_since"] is None)
            status = service.status()
            assert (status["converged"], status["healthy"], status["pending_work"]) == (True, True, [])
        await until(lambda: service.status()["unknown_since"] is not None)
        status = service.status()
        assert (status["converged"], status["healthy"]) == (None, None)
        await until(lambda: "can't be reached since" in str(service.status()["pending_work"]))
        async with world.serving():
            await until(lambda: service.status()["healthy"] is True)


async def test_an_etcd_that_is_away_leaves_it_unknown_whether_all_is_well(
    world_on_fresh_etcd: LiveSystem, fresh_etcd: Etcd
) -> None:
    world = world_on_fresh_etcd
    async with world.compiling() as service:
        await network(world, "before")
        await world.settle(service)
        assert service.status()["healthy"] is True
        await run_sync(fresh_etcd.kill)
        await until(lambda: service.status()["converged"] is None and service.status()["healthy"] is None)
        assert "etcd: disconnected since " in str(service.ready())
        await run_sync(fresh_etcd.start)
        await until(lambda: service.status()["converged"] is True and service.status()["healthy"] is True)


async def test_two_api_servers_on_one_etcd_serve_person_and_compiler(bare_world: LiveSystem) -> None:
    world = bare_world
    async with world.serving(), world.serving(port=0) as other, world.compiling() as service:
        first = world.url
        for turn in range(8):
            world.persons_url = (first, other.url)[turn % 2]
            await network(world, f"n{turn}", route_target_list=targets("target:8:8"))
            await world.create("security_group", f"g{turn}", **rules(rule(RULE, group(f"g{(turn + 1) % 8}"), LOCAL)))
        await world.settle(service)
        for turn in range(8):
            assert "target:8:8" in await instance_targets(world, f"n{turn}")
        await world.assert_compiled()
