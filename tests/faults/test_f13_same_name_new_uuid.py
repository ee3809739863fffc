"""F13: under a name there comes another object: what belongs to it follows the uuid, and a late delete of what
belonged to the former one does not hit the new one's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.service.service import CompilerService
from tests.faults.faulty_system import FaultySystem
from tests.faults.server_faults import Fault, Late, Request, Slow, no_fault
from tests.faults.writing_load import RULE, lists_of
from tests.oracle.contrail import mark
from tests.support.contrail_content import LOCAL, group, instance_targets, network, rule, rules, targets, tenant
from tests.support.live_system import PROJECT, LiveSystem
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


def anew(uuid: str, name: str) -> dict[str, Any]:
    """A group of the same name, with another rule."""
    return {
        "uuid": uuid,
        "fq_name": [*PROJECT, name],
        "parent_type": "project",
        **rules(rule(RULE, group("group-2"), LOCAL, protocol="tcp")),
    }


async def of_group(world: LiveSystem, name: str) -> str:
    groups = (await world.stored())["security_group"]
    return next(uuid for uuid, found in groups.items() if found["fq_name"][-1] == name)


async def origins(world: LiveSystem, name: str) -> set[str]:
    """Whose marks the lists of a group carry."""
    lists = (await world.stored())["access_control_list"].values()
    return {(mark(found) or ["", "", ""])[2] for found in lists if found["fq_name"][-2] == name}


NEW = {1: "6c1f0000-0000-4000-8000-000000000001", 2: "6c1f0000-0000-4000-8000-000000000002"}
"""The uuids of the groups that are made again, by the number of transactions in which that is done."""
LATE = 0.5
"""Seconds by which deletes come late to the server."""


def late_deletes(request: Request) -> Fault | None:
    return Slow(LATE) if request.mutates and request.deletes else None


@pytest.mark.parametrize("late", [False, True])
async def test_a_group_that_is_created_again_gets_new_lists(faulty: FaultySystem, late: bool) -> None:
    """In one transaction, and another group in two."""
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        if late:
            faulty.faults.rule = late_deletes
        for transactions in (1, 2):
            name = f"group-{transactions}"
            former, old = await lists_of(faulty, name), await of_group(faulty, name)
            assert len(former) == 2
            await replace_group(faulty, old, name, transactions)
            await faulty.settle(service)
            assert (await lists_of(faulty, name)).isdisjoint(former)
            assert await origins(faulty, name) == {NEW[transactions]}
            await faulty.assert_compiled()
    await faulty.check()


async def test_the_uuid_distinguishes_what_was_replaced_while_the_compiler_was_down(faulty: FaultySystem) -> None:
    """In one transaction, and another group in two."""
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
    former = {}
    for transactions in (1, 2):
        name = f"group-{transactions}"
        former[name] = await lists_of(faulty, name)
        assert len(former[name]) == 2
        await replace_group(faulty, await of_group(faulty, name), name, transactions)
    await faulty.compile_once()
    for transactions, (name, lists) in enumerate(former.items(), 1):
        assert (await lists_of(faulty, name)).isdisjoint(lists)
        assert await origins(faulty, name) == {NEW[transactions]}
    await faulty.check()


async def replace_group(world: LiveSystem, old: str, name: str, transactions: int) -> None:
    """Another group of the name, in one transaction or in two."""
    delete = ("DELETE", "security_group", {"uuid": old})
    create = ("CREATE", "security_group", anew(NEW[transactions], name))
    if transactions == 1:
        await world.sync(delete, create)
    else:
        await world.sync(delete)
        await world.sync(create)


async def test_a_network_that_is_made_again_gets_another_number(faulty: FaultySystem) -> None:
    """The owner is the uuid: nobody takes over the number of one of the same name."""
    async with faulty.compiling() as service:
        await tenant(faulty)
        alone = await network(faulty, "alone", route_target_list=targets("target:9:9"))
        await faulty.settle(service)
        before = await faulty.numbers()
        again = {"fq_name": [*PROJECT, "alone"], "parent_type": "project", "route_target_list": targets("target:9:9")}
        await faulty.sync(("DELETE", "virtual_network", {"uuid": alone}), ("CREATE", "virtual_network", again))
        await faulty.settle(service)
        after = await faulty.numbers()
        gone, come = before.keys() - after.keys(), after.keys() - before.keys()
        assert (len(gone), len(come)) == (1, 1)
        assert "target:9:9" in await instance_targets(faulty, "alone")
        await faulty.assert_compiled()
    await faulty.check()


async def test_a_group_that_gets_another_name_keeps_its_uuid_and_its_lists_follow(faulty: FaultySystem) -> None:
    """No call of the API renames; a value that is put into etcd may."""
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        uuid = await of_group(faulty, "group-0")
        value = (await faulty.stored())["security_group"][uuid]
        renamed = {**value, "fq_name": [*PROJECT, "renamed"]}
        await faulty.put_raw("security_group", uuid, msgspec.json.encode(renamed))
        await faulty.settle(service)
        assert await lists_of(faulty, "group-0") == set()
        assert await origins(faulty, "renamed") == {uuid}
        await faulty.assert_compiled()
    await faulty.check()


async def test_an_object_created_again_while_its_absence_is_read_is_written(faulty: FaultySystem) -> None:
    """A write meets a deleted object, whose absence is read back; before that answer comes the object is there again,
    and the compiler has seen it. The answer is older than that."""
    faults = faulty.faults
    async with faulty.compiling() as service:
        made = await tenant(faulty)
        await faulty.settle(service)
        found = (await faulty.stored())["routing_instance"].items()
        uuid, instance = next((u, r) for u, r in found if r["fq_name"][-1] == "network-0")
        faults.forget()
        late_read = Late()
        faults.rule = lambda request: Slow(LATE) if request.mutates and request.names(uuid) else None
        some = targets("target:1:1", "target:13:13")
        await faulty.update("virtual_network", made["virtual_network"][0], route_target_list=some)
        await until(lambda: bool(faults.struck))
        faults.rule = lambda request: late_read if (request.method, uuid in request.path) == ("GET", True) else None
        await faulty.delete_raw("routing_instance", uuid)
        await late_read.served.wait()
        faults.rule = no_fault
        await faulty.put_raw("routing_instance", uuid, msgspec.json.encode({**instance, "route_target_refs": []}))
        await until(lambda: service.engine.revision >= faulty.revision)
        late_read.released.set()
        await faulty.settle(service)
        await faulty.assert_compiled()
    await faulty.check()


async def test_lists_whose_group_went_first_are_cleared_away(faulty: FaultySystem) -> None:
    """Past the API server, which would reject it: the parent goes, its children are still there."""
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        await gone_from_etcd(faulty, service, "group-0")
    await faulty.check()


async def test_lists_whose_group_went_while_the_compiler_was_down_are_cleared_away(faulty: FaultySystem) -> None:
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
    await gone_from_etcd(faulty, None, "group-0")
    async with faulty.compiling() as again:
        await faulty.settle(again)
        assert await lists_of(faulty, "group-0") == set()
    await faulty.check()


async def gone_from_etcd(world: LiveSystem, service: CompilerService | None, name: str) -> None:
    assert len(await lists_of(world, name)) == 2
    await world.delete_raw("security_group", await of_group(world, name))
    if service is not None:
        await world.settle(service)
        assert await lists_of(world, name) == set()
        await world.assert_compiled()
