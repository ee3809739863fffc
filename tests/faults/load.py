"""What the person does to a fault bench: a population of resources, and changes of it at a rate.

Everything goes through the API server in ``/sync`` requests, as a cloud's own load does. Which change comes next is
drawn from a seed; what is there is remembered, so that every change is a valid one.
"""

from __future__ import annotations

import random
import time
import uuid as uuid_module
from collections.abc import Iterable
from typing import Any

import anyio

from tests.faults.scale import Scale, in_full
from tests.support.contrail_content import EVERYWHERE, LOCAL, feet, group, rule, rules, targets
from tests.support.live_system import PROJECT, LiveSystem

Change = tuple[str, str, dict[str, Any]]
"""(operation, kind, data), an item of a ``/sync``."""

REACHED = 0.9
"""The share of the offered load that must have been reached for a run to count."""
_AT_ONCE = 40
_TICKS = 20
"""Requests a second in which the load is offered, at most."""


class Tenants:
    """Groups that name each other, networks with configured targets and an interface each, and routers over the
    interfaces; by name → uuid."""

    def __init__(self, world: LiveSystem, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.groups: dict[str, str] = {}
        self.networks: dict[str, str] = {}
        self.routers: dict[str, str] = {}
        self._made = 0

    async def populate(self, groups: int, networks: int) -> None:
        """Create so many, and one router for every twenty networks."""
        changes = [self._group(f"group-{number}") for number in range(groups)]
        for number in range(networks):
            changes += self._network(f"network-{number}")
        for number in range(0, networks, 20):
            some = [f"foot-network-{each}" for each in range(number, min(number + 20, networks))]
            changes.append(self._router(f"router-{number}", some))
        await self.sync(changes)

    async def sync(self, changes: Iterable[Change]) -> None:
        """Carry out in requests of forty, which an etcd of 1,024 operations a transaction takes."""
        left = list(changes)
        for first in range(0, len(left), _AT_ONCE):
            await self.world.sync(*left[first : first + _AT_ONCE])

    def changes(self, count: int) -> list[Change]:
        """The next so many changes at random, none of them of an object that another of them concerns. Some delete
        what is there by now: they can't go in the request that makes it, since ``/sync`` deletes before it creates."""
        found: list[Change] = []
        touched: set[str] = set()
        while len(found) < count:
            change = self._change()
            if change[2]["uuid"] not in touched:
                touched.add(change[2]["uuid"])
                found.append(self._noted(change))
        return found

    def rewritten(self, name: str) -> Change:
        """New rules for a group that is there."""
        return "UPDATE", "security_group", {"uuid": self.groups[name], **self._rules()}

    def removed(self, names: Iterable[str]) -> list[Change]:
        """Groups go."""
        return [("DELETE", "security_group", {"uuid": self.groups.pop(name)}) for name in names]

    def extra(self) -> list[Change]:
        """A group, a network with its interface and a router over it."""
        self._made += 1
        name = f"extra-{self._made}"
        return [self._group(name), *self._network(name), self._router(name, [f"foot-{name}"])]

    def taken_back(self, made: Iterable[Change]) -> list[Change]:
        """What was made goes; a ``/sync`` sorts that by itself."""
        for table in (self.groups, self.networks, self.routers):
            for _, _, data in made:
                table.pop(data["fq_name"][-1], None)
        return [("DELETE", kind, {"uuid": data["uuid"]}) for _, kind, data in made]

    def more(self, count: int) -> list[Change]:
        """So many groups more."""
        first, self._made = self._made, self._made + count
        return [self._group(f"more-{number}") for number in range(first, self._made)]

    def _change(self) -> Change:
        drawn = self.chance.random()
        if drawn < 0.05 or not self.groups:
            self._made += 1
            return self._group(f"late-{self._made}", note=False)
        if drawn < 0.10 and len(self.groups) > 20:
            return "DELETE", "security_group", {"uuid": self.groups[self.chance.choice(list(self.groups))]}
        if drawn < 0.30 and self.networks:
            some = targets(*{f"target:{self.chance.randrange(1, 9)}:1" for _ in range(2)})
            network = self.networks[self.chance.choice(list(self.networks))]
            field = self.chance.choice(("route_target_list", "import_route_target_list"))
            return "UPDATE", "virtual_network", {"uuid": network, field: some}
        if drawn < 0.35 and self.routers:
            some = targets(f"target:10:{self.chance.randrange(5)}")
            router = self.routers[self.chance.choice(list(self.routers))]
            return "UPDATE", "logical_router", {"uuid": router, "configured_route_target_list": some}
        return self.rewritten(self.chance.choice(list(self.groups)))

    def _noted(self, change: Change) -> Change:
        operation, kind, data = change
        if operation == "CREATE" and kind == "security_group":
            self.groups[data["fq_name"][-1]] = data["uuid"]
        elif operation == "DELETE":
            self.groups = {name: uuid for name, uuid in self.groups.items() if uuid != data["uuid"]}
        return change

    def group(self, name: str, fields: dict[str, Any]) -> Change:
        """Another group, with these fields."""
        return self._noted(("CREATE", "security_group", {**self._named(name), **fields}))

    def _group(self, name: str, *, note: bool = True) -> Change:
        change = "CREATE", "security_group", {**self._named(name), **self._rules()}
        return self._noted(change) if note else change

    def _rules(self) -> dict[str, Any]:
        others = [group(name) for name in self.chance.sample(list(self.groups), min(2, len(self.groups)))]
        return rules(
            rule(self._uuid(), [EVERYWHERE, *others], LOCAL),
            rule(self._uuid(), LOCAL, EVERYWHERE, protocol=str(self.chance.randrange(1, 250))),
        )

    def _network(self, name: str) -> list[Change]:
        network, foot = self._named(name), self._named(f"foot-{name}")
        self.networks[name] = network["uuid"]
        refers = {"virtual_network_refs": [{"uuid": network["uuid"], "to": network["fq_name"]}]}
        owner = {"virtual_machine_interface_device_owner": "network:router_interface"}
        return [
            ("CREATE", "virtual_network", {**network, "route_target_list": targets("target:1:1")}),
            ("CREATE", "virtual_machine_interface", {**foot, **refers, **owner}),
        ]

    def _router(self, name: str, interfaces: list[str]) -> Change:
        data = self._named(name)
        self.routers[name] = data["uuid"]
        return "CREATE", "logical_router", {**data, "virtual_machine_interface_refs": feet(*interfaces)}

    def _named(self, name: str) -> dict[str, Any]:
        return {"uuid": self._uuid(), "fq_name": [*PROJECT, name], "parent_type": "project"}

    def _uuid(self) -> str:
        return str(uuid_module.UUID(int=self.chance.getrandbits(128), version=4))


async def offer(tenants: Tenants, scale: Scale) -> None:
    """Change the population ``scale.rate`` times a second for ``scale.seconds``. Raises ``AssertionError`` if less than
    90 % of that was reached in a full run: then it says nothing about the load."""
    ticks = max(1, round(min(_TICKS, scale.rate) * scale.seconds))
    offered = round(scale.rate * scale.seconds)
    done, begun = 0, time.monotonic()
    for tick in range(ticks):
        await anyio.sleep(max(0.0, begun + tick * scale.seconds / ticks - time.monotonic()))
        count = offered * (tick + 1) // ticks - offered * tick // ticks
        await tenants.world.sync(*tenants.changes(count))
        if time.monotonic() <= begun + scale.seconds * (1 / REACHED):
            done += count
    took = time.monotonic() - begun
    assert in_full(done >= REACHED * offered), f"only {done} of {offered} changes were offered in {took:.1f} s"
