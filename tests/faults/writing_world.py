"""A world whose API server misbehaves on demand, the load that a person puts on it, and what is demanded afterwards.

The demands are those of ``oracles``: the world is what the naive oracle compiles, a further pass (a restart) writes
nothing, and the compiler that writes nothing is alive.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from intentc.apiserver import serving
from intentc.apiserver.app import create_app
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.scale import in_full
from tests.faults.server_faults import ServerFaults
from tests.oracle.contrail import mark
from tests.support.contrail_content import LOCAL, group, rule, rules
from tests.support.live_system import LiveSystem, counted_world

MANY = 20
"""Objects that the compiler must have made before its silence says something (docs/engine.md §10)."""
REACHED = 0.9
"""The share of the offered load that must have been reached for a run to count."""
_AT_ONCE = 50
"""Resources that a person puts into one request."""
RULE = "bdf042c0-0000-4000-8000-000000000001"


class FaultyWorld:
    """``world`` with an API server that follows ``faults``."""

    def __init__(self, world: LiveSystem, faults: ServerFaults) -> None:
        self.world = world
        self.faults = faults

    async def check(self) -> None:
        """The world is right, a restart writes nothing, and a repair shows that the compiler is alive."""
        world = self.world
        await world.assert_compiled()
        assert len(await world.owned()) >= MANY
        before, numbers = await world.values(), await world.numbers()
        world.calls.seen.clear()
        async with world.compiling() as again:
            await world.settle(again)
            assert again.engine.progress.evaluations >= MANY
            assert world.calls.mutations == {}
            assert await world.values() == before
            assert await world.numbers() == numbers
            lists = (await world.stored())["access_control_list"]
            victim = next(uuid for uuid, found in lists.items() if mark(found))
            await world.delete("access_control_list", victim)
            await world.settle(again)
            assert (await world.stored())["access_control_list"].keys() == lists.keys()
            assert sum(world.calls.mutations.values()) == 1
        await world.assert_compiled()


@asynccontextmanager
async def faulty_world(
    store: EtcdStore, loaded: Loaded, patch: Any, before: Callable[[LiveSystem], Awaitable[None]] | None = None
) -> AsyncIterator[FaultyWorld]:
    """A world with its server running. ``patch``: pytest's ``monkeypatch``. ``before``: what is done to the world
    ahead of the server's start."""
    faults = ServerFaults()
    async with counted_world(store, loaded, patch) as world:

        def wrapped(*args: Any) -> Any:
            return world.calls.around(faults.around(create_app(*args)))

        patch.setattr(serving, "create_app", wrapped)
        if before is not None:
            await before(world)
        async with world.serving():
            yield FaultyWorld(world, faults)


async def offer(rate: float, seconds: float, one: Callable[[int], Awaitable[Any]]) -> None:
    """Call ``one`` with 0, 1, … ``rate`` times a second. Fails if less than 90 % of them was done in time in a full
    run: then it says nothing about the load."""
    offered, begun = int(rate * seconds), time.monotonic()
    in_time = 0
    for number in range(offered):
        await anyio.sleep(max(0.0, begun + number / rate - time.monotonic()))
        await one(number)
        in_time += time.monotonic() <= begun + seconds
    assert in_full(in_time >= REACHED * offered), f"only {in_time} of {offered} changes were offered in {seconds:g} s"


async def many_groups(world: LiveSystem, count: int, prefix: str = "many") -> None:
    """So many security groups that name each other in a ring, in few requests; two lists follow from each."""
    for first in range(0, count, _AT_ONCE):
        await world.sync(
            *(
                ("CREATE", "security_group", ring_member(prefix, number, count))
                for number in range(first, min(first + _AT_ONCE, count))
            )
        )


def ring_member(prefix: str, number: int, count: int) -> dict[str, Any]:
    """One group of the ring, as a ``CREATE`` takes it."""
    named = group(f"{prefix}-{(number + 1) % count}")
    return {
        "fq_name": ["default-domain", "default-project", f"{prefix}-{number}"],
        "parent_type": "project",
        **rules(rule(RULE, named, LOCAL)),
    }


async def lists_of(world: LiveSystem, name: str) -> set[str]:
    """The uuids of the access control lists of a group of the default project."""
    lists = (await world.stored()).get("access_control_list", {})
    return {uuid for uuid, found in lists.items() if found["fq_name"][-2] == name}


async def lists_of_many(world: LiveSystem) -> int:
    """How many access control lists of groups that ``many_groups`` made there are."""
    lists = (await world.stored())["access_control_list"].values()
    return sum(found["fq_name"][-2].startswith("many-") for found in lists)
