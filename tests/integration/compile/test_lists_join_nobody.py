"""A list names the route target that the next network gets: it is refused, and what is there already joins nobody.

The list is put into etcd past the API server, as a server of an older version left it. Networks come and go under that
number (issue: false contention left the new network without any route target).
"""

from __future__ import annotations

import msgspec
import pytest

from intentc.pipeline.drift import REVERTS
from tests.integration.compile.contents import instance_targets, network, targets
from tests.integration.compile.world import World

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_networks_that_come_and_go_under_a_listed_number_are_joined_with_nobody(world: World) -> None:
    async with world.compiling() as service:
        mine = await network(world, "a", route_target_list=targets("target:1:1"))
        await world.settle(service)
        (own,) = set(await instance_targets(world, "a")) - {"target:1:1"}
        following = f"target:64512:{max((await world.numbers()).values()) + 1}"

        answer = await world.person.put(
            f"{world.url}/virtual-network/{mine}", json={"virtual-network": {"route_target_list": targets(following)}}
        )
        assert answer.status_code == 400, answer.text
        assert following in answer.json()["message"]

        stored = (await world.stored())["virtual_network"][mine]
        past_the_server = {**stored, "route_target_list": targets("target:1:1", following)}
        await world.put_raw("virtual_network", mine, msgspec.json.encode(past_the_server))
        await world.settle(service)
        for _ in range(REVERTS + 1):
            other = await network(world, "b")
            await world.settle(service)
            assert list(await instance_targets(world, "b")) == [following]
            assert set(await instance_targets(world, "a")) == {own, "target:1:1"}
            await world.delete("virtual_network", other)
            await world.settle(service)
        status = service.status()
        assert status["healthy"] and status["converged"]
        assert (status["counters"]["drift_repairs"], status["counters"]["fights"]) == (0, 0)
        (problem,) = status["problems"]
        assert (problem["kind"], problem["reason"]) == ("virtual_network", "AutomaticRouteTarget")
        assert following in problem["message"]
    await world.assert_compiled()
