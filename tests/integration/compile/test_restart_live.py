"""What the compiler owes to a world that it finds, leaves and finds again: restarts, silence, drift, orphans."""

from __future__ import annotations

import msgspec
import pytest

from tests.oracle.contrail import mark
from tests.support.contrail_content import LOCAL, group, network, remove, rule, rules, tenant
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

RULE = "bdf042c0-0000-4000-8000-000000000001"


async def test_star_16_a_start_cleans_up_after_resources_deleted_before_it(world: LiveSystem) -> None:
    async with world.compiling() as service:
        gone = await network(world, "v")
        await network(world, "other")
        await world.settle(service)
    name = (*PROJECT, "v", "v")
    (target,) = await world.targets("routing_instance", *name)
    before = await world.numbers()

    await world.delete("virtual_network", gone)
    await world.compile_once()
    stored = await world.stored()
    assert gone not in stored["virtual_network"]
    assert list(name) not in [r["fq_name"] for r in stored["routing_instance"].values()]
    assert [target] not in [t["fq_name"] for t in stored["route_target"].values()]
    left = await world.numbers()
    assert left.items() < before.items() and len(before) - len(left) == 1
    await world.assert_compiled()


async def test_star_17_passes_and_restarts_write_nothing_and_repair_a_deleted_object(
    world: LiveSystem,
) -> None:
    """Groups, routers and configured targets; counted at the server, numbers included."""
    async with world.compiling() as service:
        await tenant(world)
        await world.settle(service)
        await world.assert_compiled()
        assert len(await world.owned()) >= 20
        before = await world.values()
        world.calls.seen.clear()

        known, book = service.engine.world, service.engine.planner.book
        runs = service.engine.evaluator.runs
        for key in [key for key in known.cache if key.kind in known.intent_kinds]:
            service.engine.jobs.resync(key)
        for resource in map(known.resource, list(known.cache)):
            if resource is not None and resource.name in book:
                service.engine.objects.plan([resource.name])
        await world.settle(service)
        assert service.engine.evaluator.runs - runs >= 20
        assert world.calls.mutations == {}

    numbers = await world.numbers()
    world.calls.seen.clear()
    async with world.compiling() as again:
        await world.settle(again)
        assert again.engine.evaluator.runs >= 20
        assert world.calls.mutations == {}
        assert await world.values() == before
        assert await world.numbers() == numbers

        lists = (await world.stored())["access_control_list"]
        victim = next(uuid for uuid, acl in lists.items() if acl["fq_name"][-2] == "group-1")
        await world.delete("access_control_list", victim)
        await world.settle(again)
        assert (await world.stored())["access_control_list"].keys() == lists.keys()
        assert world.calls.mutations
    await world.assert_compiled()


async def test_a_reference_that_arrives_before_its_target_is_healed(world: LiveSystem) -> None:
    """Past the API server, which would reject it: the router and its interface are in etcd before the network."""
    uuids = {kind: f"5b0f0000-0000-4000-8000-00000000000{n}" for n, kind in enumerate(("vn", "vmi", "lr"))}
    project = next(uuid for uuid, p in (await world.stored())["project"].items() if tuple(p["fq_name"]) == PROJECT)
    async with world.compiling() as service:
        foot = {"uuid": uuids["vmi"], "to": [*PROJECT, "i"]}
        below = {"parent_type": "project", "parent_uuid": project}
        router = {"uuid": uuids["lr"], "fq_name": [*PROJECT, "r"], "virtual_machine_interface_refs": [foot], **below}
        await world.put_raw("logical_router", uuids["lr"], msgspec.json.encode(router))
        await world.settle(service)
        assert len(service.pending()) == 1

        to_network = [{"uuid": uuids["vn"], "to": [*PROJECT, "v"]}]
        port = {"uuid": uuids["vmi"], "fq_name": [*PROJECT, "i"], "virtual_network_refs": to_network, **below}
        await world.put_raw("virtual_machine_interface", uuids["vmi"], msgspec.json.encode(port))
        await world.settle(service)
        assert len(service.pending()) == 1

        await world.create("virtual_network", "v", uuid=uuids["vn"])
        await world.settle(service)
        assert service.pending() == []
        numbers = {f"target:64512:{n}" for owner, n in (await world.numbers()).items() if uuids["lr"] in owner}
        assert len(numbers) == 1
        assert numbers < (await world.targets("routing_instance", *PROJECT, "v", "v")).keys()


async def test_groups_that_come_in_any_order_compile_to_the_same(world: LiveSystem) -> None:
    async with world.compiling() as service:
        for number in (2, 0, 3, 1):
            ring = rules(rule(RULE, group(f"g{(number + 1) % 4}"), LOCAL))
            await world.create("security_group", f"g{number}", **ring)
        await world.settle(service)
        assert service.pending() == []
    await world.assert_compiled()


async def test_deleting_everything_leaves_nothing_behind_numbers_included(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await world.settle(service)
        empty, numbers = await world.stored(), await world.numbers()
        made = await tenant(world)
        await world.settle(service)
        assert len(await world.owned()) >= 20
        await remove(world, made)
        await world.settle(service)
    assert {kind: set(found) for kind, found in (await world.stored()).items() if found} == {
        kind: set(found) for kind, found in empty.items()
    }
    assert await world.numbers() == numbers
    await world.assert_compiled()


async def test_deleting_everything_in_one_transaction_leaves_nothing_behind(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await world.settle(service)
        empty = {kind: set(found) for kind, found in (await world.stored()).items()}
        made = await tenant(world)
        await world.settle(service)
        await world.sync(*(("DELETE", kind, {"uuid": uuid}) for kind, uuids in made.items() for uuid in uuids))
        await world.settle(service)
    assert {kind: set(found) for kind, found in (await world.stored()).items() if found} == empty
    await world.assert_compiled()


async def test_drift_is_repaired_and_what_is_not_ours_is_left_alone(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await tenant(world, 3)
        look_alike = await world.create(
            "access_control_list", "hand-made", (*PROJECT, "group-0"), parent_type="security-group"
        )
        await world.settle(service)
        stored = await world.stored()
        for uuid, acl in stored["access_control_list"].items():
            if mark(acl) and acl["fq_name"][-1].startswith("ingress"):
                await world.update("access_control_list", uuid, access_control_list_entries={"acl_rule": []})
        instance = next(u for u, r in stored["routing_instance"].items() if r["fq_name"][-1] == "network-1")
        await world.update("routing_instance", instance, route_target_refs=[])
        foreign = await world.create("route_target", "target:5:5", ())
        await world.refer("ADD", "routing_instance", instance, "route_target", foreign)
        await world.settle(service)
        after = await world.stored()
    assert look_alike in after["access_control_list"]
    assert foreign in after["route_target"]
    await world.delete("access_control_list", look_alike)
    await world.assert_compiled()


async def test_orphans_are_collected_only_after_a_complete_pass(
    world: LiveSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.compiling() as service:
        made = await tenant(world, 3)
        await world.settle(service)
    gone = made["security_group"][0]
    await world.delete("security_group", gone)
    owned = len(await world.owned())
    world.calls.seen.clear()

    async with world.compiling() as again:
        engine, evaluator = again.engine, again.engine.evaluator
        make_pass, seen = engine._make_pass, []

        def noted() -> None:
            seen.append((evaluator.runs, world.calls.mutations))
            make_pass()

        monkeypatch.setattr(engine, "_make_pass", noted)
        await world.settle(again)
        ((runs, mutations),) = seen
        assert runs >= 9
        assert mutations == {}
    assert len(await world.owned()) == owned - 2
    await world.assert_compiled()


async def test_observing_writes_and_allocates_nothing_and_shows_what_it_would_do(world: LiveSystem) -> None:
    await tenant(world, 3)
    before, numbers = await world.values(), await world.numbers()
    world.calls.seen.clear()
    async with world.compiling(observe=True) as service:
        await world.settle(service)
        status = service.status()
        assert world.calls.mutations == {}
        assert (await world.values(), await world.numbers()) == (before, numbers)
        assert status["observing"] is True
        assert status["counts"]["planned"] >= 6
        planned = {entry["object"]: entry["writes"] for entry in status["planned"]}
        acl = next(name for name in planned if "group-0" in name and "ingress" in name)
        assert planned[acl] == ["create"]
        assert status["waiting"]
    await world.compile_once()
    await world.assert_compiled()
