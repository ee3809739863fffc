"""Changes that follow on each other faster than they are compiled: only the last state counts, whatever lay between."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.support.contrail_content import (
    EVERYWHERE,
    LOCAL,
    feet,
    group,
    instance_targets,
    interface,
    network,
    rule,
    rules,
    targets,
)
from tests.support.live_system import LiveSystem
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

_SEED = 0
"""Of the changes: other histories are lived through in simulated time, and by ``make chaos``."""

RULE = "bdf042c0-0000-4000-8000-000000000001"
NAMES = ("a", "b", "c", "d", "e")
USERS = "target:65000:9"


async def test_a_group_that_is_made_anew_under_its_name_gets_lists_of_its_own(world: LiveSystem) -> None:
    """The old lists have the names of the new ones and must go first; the late delete must not take the new ones."""
    async with world.compiling() as service:
        for turn in range(6):
            uuid = await world.create("security_group", "again", **rules(rule(RULE, group("again"), LOCAL)))
            if turn % 3 == 2:
                await world.settle(service)
                await world.assert_compiled()
            if turn < 5:
                await world.delete("security_group", uuid)
        await world.settle(service)
    lists = (await world.stored())["access_control_list"].values()
    assert {acl["parent_uuid"] for acl in lists if acl["fq_name"][-2] == "again"} == {uuid}
    await world.assert_compiled()


async def test_a_network_created_again_under_its_name_gets_a_new_number(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await world.settle(service)
        before = await world.numbers()
        for turn in range(6):
            uuid = await network(world, "again", route_target_list=targets(f"target:1:{turn}"))
            if turn % 3 == 2:
                await world.settle(service)
            if turn < 5:
                await world.delete("virtual_network", uuid)
        await world.settle(service)
    assert len(await world.numbers()) == len(before) + 1
    assert {"target:1:5"} < (await instance_targets(world, "again")).keys()
    await world.assert_compiled()


async def test_our_references_never_stand_in_the_way_of_a_users_delete(world: LiveSystem) -> None:
    """A user's own route target that a list names: it may go, and comes again as ours while the list names it."""
    async with world.compiling() as service:
        mine = await world.create("route_target", USERS, ())
        vn = await network(world, "v", route_target_list=targets(USERS))
        await world.settle(service)
        assert USERS in await instance_targets(world, "v")

        await world.delete("route_target", mine)
        await world.settle(service)
        assert USERS in await instance_targets(world, "v")
        await world.assert_compiled()

        await world.update("virtual_network", vn, route_target_list=targets())
        await world.settle(service)
    assert [USERS] not in [found["fq_name"] for found in (await world.stored())["route_target"].values()]
    await world.assert_compiled()


async def test_a_storm_of_changes_and_restarts_equals_a_compile_of_the_last_state(world: LiveSystem) -> None:
    """Names from a pool of five, so that things refer to each other, come again and meet on one instance. Any number of
    histories in simulated time: tests/simulation; with faults besides: tests/chaos."""
    chance = random.Random(_SEED)
    storm = _Storm(world, chance)
    async with world.compiling():
        for _ in range(60):
            await storm.step()
    for _ in range(10):
        await storm.step()
    async with world.compiling() as service:
        for _ in range(30):
            await storm.step()
        await world.settle(service)
        assert len(await world.owned()) >= 10
        await world.assert_compiled()
        world.calls.seen.clear()
    async with world.compiling() as service:
        await world.settle(service)
        assert world.calls.mutations == {}


async def test_a_storm_over_an_unstable_api_server_converges(bare_world: LiveSystem) -> None:
    """The compiler's server is cut off again and again, requests under way included; the person's stays."""
    world = bare_world
    storm = _Storm(world, random.Random(_SEED))
    async with world.serving(port=0) as persons:
        world.persons_url, world.port = persons.url, 0
        async with world.serving():
            """Its port is known from here on."""
        async with world.compiling() as service:
            for _ in range(5):
                async with world.serving():
                    for _ in range(8):
                        await storm.step()
                for _ in range(4):
                    await storm.step()
            async with world.serving():
                await world.settle(service)
                await until(lambda: service.status()["converged"])
                await world.assert_compiled()


class _Storm:
    """Makes, changes and deletes groups, networks and routers by chance; never what the API server would reject."""

    def __init__(self, world: LiveSystem, chance: random.Random) -> None:
        self._world = world
        self._chance = chance
        self._there: dict[tuple[str, str], str] = {}

    async def step(self) -> None:
        kind = self._chance.choice(("security_group", "virtual_network", "logical_router"))
        name = self._chance.choice(NAMES)
        uuid = self._there.get((kind, name))
        if uuid is None:
            await self._create(kind, name)
        elif self._chance.random() < 0.3:
            await self._delete(kind, name, uuid)
        else:
            await self._world.update(kind, uuid, **self._fields(kind, name))

    def _fields(self, kind: str, name: str) -> dict[str, Any]:
        some = [f"target:{self._chance.randrange(3)}:1" for _ in range(self._chance.randrange(3))]
        match kind:
            case "security_group":
                others = [group(other) for other in self._chance.sample(NAMES, 2)]
                return rules(rule(RULE, [EVERYWHERE, *others], LOCAL))
            case "virtual_network":
                field = self._chance.choice(("route_target_list", "import_route_target_list"))
                return {field: targets(*dict.fromkeys(some))}
            case _:
                # A foot is used by the router of its own number, so that no port has two routers.
                here = [f"foot-{n}-{name}" for n in NAMES if ("virtual_network", n) in self._there]
                chosen = self._chance.sample(here, self._chance.randrange(len(here) + 1))
                return {
                    "virtual_machine_interface_refs": feet(*chosen),
                    "configured_route_target_list": targets(*dict.fromkeys(some)),
                }

    async def _create(self, kind: str, name: str) -> None:
        self._there[kind, name] = await self._world.create(kind, name, **self._fields(kind, name))
        if kind == "virtual_network":
            for router in NAMES:
                self._there["foot", f"{name}-{router}"] = await interface(self._world, f"foot-{name}-{router}", name)

    async def _delete(self, kind: str, name: str, uuid: str) -> None:
        if kind == "virtual_network":
            # Users take their references away first, as the API server demands (docs/contrail.md B.7).
            for router in NAMES:
                holder = self._there.get(("logical_router", router))
                foot = self._there.pop(("foot", f"{name}-{router}"))
                if holder is not None:
                    await self._world.refer("DELETE", "logical_router", holder, "virtual_machine_interface", foot)
                await self._world.delete("virtual_machine_interface", foot)
        await self._world.delete(kind, uuid)
        del self._there[kind, name]
