"""A tenant's world over memory, with the shipped compiler at work in the caller's own task.

For tests of what the ancestors got wrong: short to say, run in milliseconds, judged by the naive oracle. Values can be
put past the API server, in any order, as etcd may deliver them.
"""

from __future__ import annotations

import uuid as uuid_module
from typing import Any

import msgspec

from intentc.model import Key
from intentc.offline.offline import Offline
from intentc.testing.recording import Acknowledging, Recording
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put
from tests.oracle.contrail import World, actual, expected
from tests.support.simulated_system import LOADED, POOL, stored_world

PROJECT = ("default-domain", "default-project")


class Tenancy:
    """``write``: what the compiler that is at work has written. ``await begin()`` first."""

    def __init__(self) -> None:
        self.store = MemoryStore(max_txn_ops=10_000)
        self._renew()

    async def begin(self) -> Tenancy:
        await self.offline.seed()
        return self

    async def restart(self) -> None:
        """Another process; it knows nothing but what is stored."""
        self._renew()
        await self.settle()

    def _renew(self) -> None:
        self.write = Recording(Acknowledging())
        self.offline = Offline(LOADED, write=self.write, store=self.store)
        self.write.target = self.offline.local
        self.engine = self.offline.engine

    async def settle(self) -> None:
        await self.offline.settle()

    # What people do; the compiler is done when a call returns, unless ``settle`` is false

    async def create(self, kind: str, name: str, *, settle: bool = True, **fields: Any) -> str:
        """Create a resource of the project; its uuid."""
        uuid = str(uuid_module.uuid4())
        data = {"uuid": uuid, "fq_name": [*PROJECT, name], "parent_type": "project", **fields}
        await self.sync(("CREATE", kind, data), settle=settle)
        return uuid

    async def update(self, kind: str, uuid: str, *, settle: bool = True, **fields: Any) -> None:
        await self.sync(("UPDATE", kind, {"uuid": uuid, **fields}), settle=settle)

    async def delete(self, kind: str, uuid: str, *, settle: bool = True) -> None:
        await self.sync(("DELETE", kind, {"uuid": uuid}), settle=settle)

    async def sync(self, *changes: tuple[str, str, dict[str, Any]], settle: bool = True) -> None:
        """All in one transaction."""
        entries = [{"operation": operation, "kind": kind, "data": data} for operation, kind, data in changes]
        await self.offline.server.sync(entries)
        if settle:
            await self.settle()

    async def put_raw(self, kind: str, uuid: str, **resource: Any) -> None:
        """Past the API server."""
        value = msgspec.json.encode({"uuid": uuid, **resource})
        await self.store.transaction((), [Put(f"/contrail/{kind}/{uuid}", value)])
        await self.settle()

    # What is there

    async def world(self) -> World:
        return await stored_world(self.store)

    async def numbers(self) -> dict[str, int]:
        return dict(await self.offline.server.allocations(POOL, ""))

    async def key(self, kind: str, *fq_name: str) -> Key:
        return Key(kind, await self.offline.server.identify(kind, fq_name))

    async def targets(self, network: str) -> set[str]:
        """The route targets of a network's primary routing instance."""
        name = (*PROJECT, network, network)
        return set(actual(await self.world())["routing_instance", name]["route_target_refs"])

    async def check(self) -> None:
        """What is there is what the naive oracle expects; each number has one owner, and that lives."""
        world, numbers = await self.world(), await self.numbers()
        assert actual(world) == expected(world, numbers)
        living = {uuid for kind in ("routing_instance", "logical_router") for uuid in world.get(kind, {})}
        assert {owner.split("/")[1] for owner in numbers} <= living
        assert len(set(numbers.values())) == len(numbers)


def targets(*names: str) -> dict[str, list[str]]:
    return {"route_target": list(names)}


def to(*names: str) -> list[dict[str, Any]]:
    """References to things of the project."""
    return [{"to": [*PROJECT, name]} for name in names]


async def foot(tenancy: Tenancy, name: str, network: str) -> str:
    """A router's interface in a network."""
    return await tenancy.create(
        "virtual_machine_interface",
        name,
        virtual_machine_interface_device_owner="network:router_interface",
        virtual_network_refs=to(network),
    )
