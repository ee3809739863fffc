"""What can happen to a world: users' changes, drift, unreadable values, restarts; each a value that applies itself.

A step that makes no sense now (nothing to delete, rejected by the server) does nothing, so that any sequence of steps
is a valid history and shrinks well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from intentc.model import Key
from tests.oracle.contrail import Json, World, mark
from tests.property import resources
from tests.property.resources import FqName, Put
from tests.simulation.request_faults import Outcome
from tests.simulation.simulated_system import LAYOUT, SimulatedSystem

USERS_KINDS = (
    "security_group",
    "network_policy",
    "virtual_network",
    "virtual_machine_interface",
    "logical_router",
    "bgpvpn",
    "route_table",
    "security_logging_object",
    "service_template",
    "service_instance",
    "port_tuple",
    "virtual_machine",
    "instance_ip",
    "interface_route_table",
    "service_health_check",
)
_OF_SWITCHES = ("physical_interface", "port", "virtual_router")
MADE_KINDS = (
    "virtual_machine",
    "virtual_machine_interface",
    "virtual_network",
    "service_instance",
    "route_table",
    "instance_ip",
    "interface_route_table",
    "virtual_port_group",
)
"""Kinds of which compilers make some and users others."""
LOWER_KINDS = ("access_control_list", "route_target")


class Step(Protocol):
    async def apply(self, system: SimulatedSystem) -> None: ...


class Apply(NamedTuple):
    """A user creates or updates; what the server rejects is tried without references to what is not there."""

    put: Put

    async def apply(self, system: SimulatedSystem) -> None:
        if not await system.put(*self.put):
            world = await system.world()
            there = {(kind, tuple(data["fq_name"])) for kind in world for data in world[kind].values()}
            await system.put(*resources.referring_to(self.put, there))


class ApplyInOrder(NamedTuple):
    """A user creates or updates one after the other."""

    puts: tuple[Put, ...]

    async def apply(self, system: SimulatedSystem) -> None:
        for put in self.puts:
            await Apply(put).apply(system)


class Replace(NamedTuple):
    """A user deletes and creates in one transaction: another uuid under the same name."""

    put: Put

    async def apply(self, system: SimulatedSystem) -> None:
        await system.replace(*self.put)


class Remove(NamedTuple):
    """A user deletes."""

    kind: str
    which: int

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), self.kind, self.which)
        if found is not None:
            await system.delete_key(Key(self.kind, found["uuid"]))


class TearDown(NamedTuple):
    """A user deletes everything of a tenant that bears a name, and the interfaces in its network."""

    fq_name: FqName

    async def apply(self, system: SimulatedSystem) -> None:
        await system.delete("logical_router", self.fq_name)
        world = await system.world()
        for uuid, interface in world.get("virtual_machine_interface", {}).items():
            if any(entry["to"] == list(self.fq_name) for entry in interface.get("virtual_network_refs") or []):
                for router, data in world.get("logical_router", {}).items():
                    entries = data.get("virtual_machine_interface_refs") or []
                    left = [entry for entry in entries if entry["uuid"] != uuid]
                    if len(left) < len(entries):
                        await system.update(Key("logical_router", router), {"virtual_machine_interface_refs": left})
                await system.delete_key(Key("virtual_machine_interface", uuid))
        await system.delete("virtual_network", self.fq_name)
        await system.delete("security_group", self.fq_name)


class Spoil(NamedTuple):
    """Something unreadable lies where a resource was, until ``Repair``."""

    kind: str
    which: int
    value: bytes

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), self.kind, self.which)
        if found is not None:
            await system.spoil(LAYOUT.key(self.kind, found["uuid"]), self.value)


class Repair(NamedTuple):
    """What was spoilt is as before."""

    async def apply(self, system: SimulatedSystem) -> None:
        await system.repair()


class Settle(NamedTuple):
    """The compiler gets time to do all that it wants."""

    async def apply(self, system: SimulatedSystem) -> None:
        await system.settle()


class Restart(NamedTuple):
    """Another process takes over; it may or may not get time to work."""

    settle: bool

    async def apply(self, system: SimulatedSystem) -> None:
        await system.restart()
        if self.settle:
            await system.settle()


class Kill(NamedTuple):
    """The process dies in the midst of its writes."""

    requests: int
    after_sending: bool

    async def apply(self, system: SimulatedSystem) -> None:
        await system.settle_until_killed(self.requests, after_sending=self.after_sending)


class Forecast(NamedTuple):
    """The compiler's next requests fare like this."""

    outcomes: tuple[Outcome, ...]

    async def apply(self, system: SimulatedSystem) -> None:
        system.weather.forecast(self.outcomes)


class DeliverAgain(NamedTuple):
    """The watch delivers again what it has delivered."""

    batches: int

    async def apply(self, system: SimulatedSystem) -> None:
        await system.deliver_again(self.batches)


class Compact(NamedTuple):
    """What the compiler has not seen yet is compacted away."""

    async def apply(self, system: SimulatedSystem) -> None:
        await system.compact()


class DeleteLower(NamedTuple):
    """Somebody deletes a lower-level object; ``force``: and takes away what refers to it, first."""

    kind: str
    which: int
    force: bool

    async def apply(self, system: SimulatedSystem) -> None:
        world = await system.world()
        found = picked(world, self.kind, self.which)
        if found is None:
            return
        if self.force:
            for holder in ("routing_instance", "logical_router"):
                for uuid, data in world.get(holder, {}).items():
                    entries = data.get("route_target_refs") or []
                    left = [entry for entry in entries if entry["uuid"] != found["uuid"]]
                    if len(left) < len(entries):
                        await system.update(Key(holder, uuid), {"route_target_refs": left})
        await system.delete_key(Key(self.kind, found["uuid"]))


class EditList(NamedTuple):
    """Somebody writes other entries into an access control list of the compiler's."""

    which: int
    entries: Json

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), "access_control_list", self.which)
        if found is not None:
            await system.update(
                Key("access_control_list", found["uuid"]), {"access_control_list_entries": self.entries}
            )


class EditTargets(NamedTuple):
    """Somebody takes away the first reference of a routing instance or router to a route target, turns its direction,
    or adds one."""

    kind: str
    which: int
    how: str

    async def apply(self, system: SimulatedSystem) -> None:
        world = await system.world()
        found = picked(world, self.kind, self.which)
        if found is None:
            return
        entries = [dict(entry) for entry in found.get("route_target_refs") or []]
        if self.how == "drop":
            entries = entries[1:]
        elif self.how == "turn" and self.kind == "routing_instance":
            entries = [entry | {"attr": {"import_export": "export"}} for entry in entries]
        elif self.how == "add":
            held = {entry["uuid"] for entry in entries}
            others = [uuid for uuid in sorted(world.get("route_target", {})) if uuid not in held]
            entries += [{"uuid": others[self.which % len(others)]}] if others else []
        await system.update(Key(self.kind, found["uuid"]), {"route_target_refs": entries})


class ForeignList(NamedTuple):
    """Somebody else makes an access control list where the compiler would, in place of the compiler's if need be.
    ``direction``: empty for the list of a network."""

    which: int
    direction: str

    async def apply(self, system: SimulatedSystem) -> None:
        kind = "security_group" if self.direction else "virtual_network"
        parent = picked(await system.world(), kind, self.which)
        if parent is not None:
            last = f"{self.direction}-access-control-list" if self.direction else parent["fq_name"][-1]
            name = (*parent["fq_name"], last)
            await system.delete("access_control_list", name)
            await system.put("access_control_list", name, {"parent_type": kind.replace("_", "-")})


class EditLinks(NamedTuple):
    """Somebody takes away the links of a routing instance, or links it with another."""

    which: int
    other: int

    async def apply(self, system: SimulatedSystem) -> None:
        world = await system.world()
        found, other = (picked(world, "routing_instance", which) for which in self)
        if found is not None and other is not None:
            entries = [] if found is other else [{"uuid": other["uuid"]}]
            await system.update(Key("routing_instance", found["uuid"]), {"routing_instance_refs": entries})


class EditChain(NamedTuple):
    """Somebody deletes an instance of a service chain, after what refers to it let go of it, or writes other
    information on it."""

    which: int
    how: str

    async def apply(self, system: SimulatedSystem) -> None:
        made = {uuid: data for uuid, data in (await system.world())["routing_instance"].items() if mark(data)}
        found = picked({"routing_instance": made}, "routing_instance", self.which)
        if found is None:
            return
        key = Key("routing_instance", found["uuid"])
        if self.how == "delete":
            for holder in found.get("routing_instance_refs") or []:
                await system.update(Key("routing_instance", holder["uuid"]), {"routing_instance_refs": []})
            await system.delete_key(key)
        else:
            information = {"service_chain_id": "x", "prefix": ["9.0.0.0/8"]} if self.how == "write" else {}
            await system.update(key, {"service_chain_information": information, "routing_instance_has_pnf": True})


class TakeName(NamedTuple):
    """A user makes an object that has the name of one of the compiler's, in its place."""

    kind: str
    which: int

    async def apply(self, system: SimulatedSystem) -> None:
        world = await system.world()
        made = {uuid: data for uuid, data in world.get(self.kind, {}).items() if mark(data)}
        found = picked({self.kind: made}, self.kind, self.which)
        if found is None:
            return
        for key, field, left in holders(world, found["uuid"]):
            await system.update(key, {field: left})
        fields = {"parent_type": found["parent_type"]} if found.get("parent_type") else {}
        if self.kind in ("virtual_machine_interface", "instance_ip"):
            # A network of the compiler's would stay as long as it is used.
            networks = sorted(data["fq_name"] for data in world["virtual_network"].values() if not mark(data))
            fields["virtual_network_refs"] = [{"to": networks[self.which % len(networks)]}]
        await system.replace(self.kind, tuple(found["fq_name"]), fields)


def holders(world: World, uuid: str) -> Iterator[tuple[Key, str, list[Json]]]:
    """(key, field, entries without that) of all that refers to the resource ``uuid``."""
    for kind, resources_of_kind in world.items():
        for holder, data in resources_of_kind.items():
            for field, entries in data.items():
                if field.endswith("_refs") and isinstance(entries, list):
                    left = [entry for entry in entries if entry["uuid"] != uuid]
                    if len(left) < len(entries):
                        yield Key(kind, holder), field, left


class EditTable(NamedTuple):
    """Somebody writes a VRF assign table on a port."""

    which: int
    rules: tuple[Json, ...]

    async def apply(self, system: SimulatedSystem) -> None:
        found = picked(await system.world(), "virtual_machine_interface", self.which)
        if found is not None:
            table = {"vrf_assign_table": {"vrf_assign_rule": list(self.rules)}}
            await system.update(Key("virtual_machine_interface", found["uuid"]), table)


def picked(world: World, kind: str, which: int) -> Json | None:
    """One of a kind, by its place in the order of the names."""
    found = sorted(world.get(kind, {}).values(), key=lambda data: (data["fq_name"], data["uuid"]))
    return found[which % len(found)] if found else None


_which = st.integers(0, 11)
_unreadable = st.sampled_from([b"", b"not json", b'{"fq_name": 7}', b"{}"])
_entries = st.sampled_from([{}, {"acl_rule": [{"rule_uuid": "x", "match_condition": {"protocol": "6"}}]}])


def _step(maker: Callable[..., Any], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.builds(maker, *arguments)


users_steps: st.SearchStrategy[Step] = st.one_of(
    _step(Apply, resources.anything),
    _step(Apply, resources.anything),
    _step(Replace, resources.anything.filter(lambda put: put.kind in USERS_KINDS)),
    _step(Remove, st.sampled_from([*USERS_KINDS, "route_target", "bgp_router", "sub_cluster", *_OF_SWITCHES]), _which),
    _step(TearDown, resources.names),
    _step(Apply, resources.mesh_switches),
    _step(Apply, resources.bgp_services),
    _step(ApplyInOrder, resources.machine_services),
    _step(ApplyInOrder, resources.machine_services),
    _step(Remove, st.just("bgp_as_a_service"), _which),
    _step(ApplyInOrder, st.tuples(resources.gateways)),
    _step(ApplyInOrder, st.tuples(resources.end_to_end_checks)),
)
"""What users do to higher-level resources, and to route targets of their own."""

drift_steps: st.SearchStrategy[Step] = st.one_of(
    _step(DeleteLower, st.sampled_from(LOWER_KINDS), _which, st.booleans()),
    _step(EditList, _which, _entries),
    _step(
        EditTargets,
        st.sampled_from(["routing_instance", "logical_router"]),
        _which,
        st.sampled_from(["drop", "turn", "add"]),
    ),
    _step(ForeignList, _which, st.sampled_from(["ingress", "egress", ""])),
    _step(EditLinks, _which, _which),
    _step(EditChain, _which, st.sampled_from(["delete", "write", "clear"])),
    _step(TakeName, st.sampled_from(MADE_KINDS), _which),
    _step(EditTable, _which, st.sampled_from([(), ({"routing_instance": "x", "ignore_acl": True},)])),
)
"""What others do to lower-level objects."""


def fault_steps_over(kinds: Sequence[str]) -> st.SearchStrategy[Step]:
    """What happens to the values of these kinds in the store, to the compiler's process, to its watch and to its
    requests."""
    return st.one_of(
        _step(Spoil, st.sampled_from(kinds), _which, _unreadable),
        _step(Repair),
        _step(Restart, st.booleans()),
        _step(Kill, st.integers(0, 8), st.booleans()),
        _step(Forecast, st.lists(st.sampled_from(list(Outcome)), min_size=1, max_size=12).map(tuple)),
        _step(DeliverAgain, st.integers(1, 20)),
        _step(Compact),
    )


fault_steps = fault_steps_over([*USERS_KINDS, "project"])

steps: st.SearchStrategy[Step] = st.one_of(users_steps, users_steps, drift_steps, fault_steps, _step(Settle))

histories: st.SearchStrategy[list[Step]] = st.lists(steps, min_size=6, max_size=20)
