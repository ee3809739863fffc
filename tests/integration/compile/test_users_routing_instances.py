"""A routing instance that a user makes below a network has a route target of its own, and goes with it
(docs/contrail.md D.1, D.3)."""

from __future__ import annotations

import pytest

from tests.support.contrail_content import instance_targets, network, targets
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_it_has_a_route_target_of_its_own_and_goes_with_its_network(world: LiveSystem) -> None:
    async with world.compiling() as service:
        uuid = await network(world, "a", route_target_list=targets("target:1:1"))
        below = (*PROJECT, "a")
        mine = await world.create("routing_instance", "mine", below, parent_type="virtual-network")
        await world.settle(service)
        (own,) = await world.targets("routing_instance", *below, "mine")
        assert own not in await instance_targets(world, "a")
        assert "target:1:1" in await instance_targets(world, "a")
        await world.assert_compiled()

        before = len(await world.numbers())
        await world.delete("virtual_network", uuid)
        await world.settle(service)
        left = await world.stored()
        assert mine not in left["routing_instance"]
        assert own not in {target["fq_name"][0] for target in left["route_target"].values()}
        assert len(await world.numbers()) == before - 2
        assert service.status()["healthy"]
        await world.assert_compiled()


async def test_the_start_deletes_an_orphan_of_a_former_compiler(world: LiveSystem) -> None:
    uuid = await network(world, "a")
    mine = await world.create("routing_instance", "mine", (*PROJECT, "a"), parent_type="virtual-network")
    await world.delete("virtual_network", uuid)
    assert mine in (await world.stored())["routing_instance"]
    await world.compile_once()
    assert mine not in (await world.stored())["routing_instance"]
    await world.assert_compiled()
