"""The outcome follows from the inputs alone: not from their order, and not from how they came to be.

Numbers and the uuids that the server makes may differ, so outcomes are compared with the owners' names in their place.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st

from intentc.offline.offline import Offline
from tests.oracle import contrail_bgp
from tests.oracle.contrail import Expected, Json, World, actual, mark, normal
from tests.property import switches
from tests.property.profiles import share_of_histories
from tests.property.resources import PROJECTS, Put, tenants, without_automatic
from tests.property.steps import USERS_KINDS, Apply, ApplyInOrder, EditTargets, Step, histories
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import INSTALLATION, LOADED, POOL, SimulatedSystem, stored_world

SERVERS_FIELDS = frozenset(
    {
        "application_policy_set_refs",
        "configuration_version",
        "display_name",
        "id_perms",
        "perms2",
        "routing_instance_refs",
        "security_group_id",
        "security_logging_object_rules",
        "virtual_machine_interface_mac_addresses",
        "virtual_network_network_id",
        "vrf_assign_table",
    }
)
"""What the server fills in by itself, or a compiler writes."""

INTERNAL = "__contrail_lr_internal_vn_"
"""How the names of the networks begin that the server makes for routers in vxlan mode; the router's uuid follows."""

_CHAIN = re.compile(r"service-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-")
"""How the names of the routing instances of a service chain begin."""

_FLAT_ADDRESS = re.compile(r"(?<=\")(?:::)?(?:0\.255\.255\.\d+|ff:ff[0-9a-f]{2})(?=\")")
"""An address of the flat IPAM for services and chains."""

SEEDS = ("target:64512:8000000", "target:64512:8000001")
"""Route targets that every server has at first; others may delete them."""


@share_of_histories(0.2)
@given(st.data(), tenants().map(lambda puts: [without_automatic(put) for put in puts]))
def test_the_order_of_arrival_does_not_matter(data: st.DataObject, puts: list[Put]) -> None:
    other = puts[: len(PROJECTS)] + data.draw(st.permutations(puts[len(PROJECTS) :]))
    pace = data.draw(st.integers(1, 6))
    simulate(_arrive_in_two_orders, puts, other, pace)


async def _arrive_in_two_orders(puts: list[Put], other: list[Put], pace: int) -> None:
    at_once, slowly = SimulatedSystem(), SimulatedSystem()
    await at_once.start()
    rejected = await at_once.put_all(puts)
    await at_once.settle()
    await slowly.start()
    also_rejected: list[Put] = []
    for first in range(0, len(other), pace):
        also_rejected = await slowly.put_all([*also_rejected, *other[first : first + pace]])
        await slowly.settle()
    assume(sorted(map(str, rejected)) == sorted(map(str, also_rejected)))
    assert await nameless(at_once) == await nameless(slowly)


@share_of_histories(0.2)
@given(tenants(), histories.map(lambda steps: [step for step in steps if not leans_on_numbers(step)]))
def test_a_compile_from_scratch_gives_what_a_long_history_gave(begin: list[Put], history: list[Step]) -> None:
    simulate(_compare_with_scratch, begin, history)


async def _compare_with_scratch(begin: list[Put], history: list[Step]) -> None:
    system = SimulatedSystem()
    await system.start()
    await system.put_all(begin)
    for step in history:
        await step.apply(system)
    await system.end_faults()
    await system.settle()
    world = await system.world()
    offline = Offline(LOADED, installation=INSTALLATION, given={POOL: numbers_by_name(world, await system.numbers())})
    await offline.seed()
    configuration = next(iter(world["global_system_config"].values()))
    await offline.apply(
        [{"kind": "global_system_config", "operation": "UPDATE", "data": inputs_of(world, configuration)}]
    )
    await offline.apply(deleted_seeds(world, await stored_world(offline.store)))
    await offline.apply(users_resources(world))
    await offline.apply(users_sessions(world))
    assert with_group_names(await stored_world(offline.store)) == with_group_names(world)


def leans_on_numbers(step: Step) -> bool:
    """Whether a user's router comes to refer to what was made for another: that reference keeps an object from being
    deleted, which a compile from scratch would never have made. Or the mesh is switched: its links then stay. Or a BGP
    service gets ports, or the machines of services of version 1 addresses, in the order of their arrival."""
    if isinstance(step, ApplyInOrder):
        return True
    if isinstance(step, Apply) and (step.put.kind == "bgp_as_a_service" or "ibgp_auto_mesh" in step.put.fields):
        return True
    return isinstance(step, EditTargets) and step.kind == "logical_router" and step.how == "add"


async def nameless(system: SimulatedSystem) -> Expected:
    """The outcome with owners' names in place of their route targets."""
    world, owners = _with_names_for_uuids(await system.world()), {}
    for kind in ("routing_instance", "logical_router"):
        owners.update({uuid: f"of {kind} {':'.join(data['fq_name'])}" for uuid, data in world.get(kind, {}).items()})
    labels = {}
    for target in world["route_target"].values():
        found = mark(target)
        if found is not None and found[2] in owners:
            labels[target["fq_name"][0]] = owners[found[2]]
    result: Expected = {}
    for (kind, name), fields in with_group_names(world).items():
        if kind == "route_target":
            name = (labels.get(name[0], name[0]),)
        if "route_target_refs" in fields:
            entries = {labels.get(target, target): how for target, how in fields["route_target_refs"].items()}
            fields = fields | {"route_target_refs": entries}
        for route in fields.get("static_route_entries", []):
            if "route_target" in route:
                route["route_target"] = sorted(labels.get(target, target) for target in route["route_target"])
        if kind == "access_control_list":
            rules = fields.get("access_control_list_entries", {}).get("acl_rule", [])
            rules[:] = _with_internal_networks_in_order(rules)
        result[kind, name] = fields
    return result


def _with_names_for_uuids(world: World) -> World:
    """The world with names in place of uuids in the names of routers' internal networks, of services' addresses, of
    port groups and of fabric ports, and without the uuids of service chains that are not there, as they may follow
    from those names."""
    chains = set(_CHAIN.findall(json.dumps(world.get("routing_instance", {}))))
    text = _CHAIN.sub(lambda found: found[0] if found[0] in chains else "service-chain-", json.dumps(world))
    for uuid, router in world.get("logical_router", {}).items():
        text = text.replace(f"{INTERNAL}{uuid}__", f"{INTERNAL}{router['fq_name'][-1]}__")
    for uuid, service in world.get("service_instance", {}).items():
        text = text.replace(f"{uuid}-", f"{service['fq_name'][-1]}-")
    for kind, before in (("virtual_network", "vmi_to_vn_"), ("physical_interface", "vgp_to_pi_")):
        for uuid, named in world.get(kind, {}).items():
            text = text.replace(f"{before}{uuid}__", f"{before}{' '.join(named['fq_name'])}__")
    found: World = json.loads(text)
    return found


def _with_internal_networks_in_order(rules: list[Json]) -> Iterator[Json]:
    """Rules for routers' internal networks that follow each other by the text, as those names were in another order."""
    for is_internal, group in itertools.groupby(rules, lambda rule: INTERNAL in str(rule)):
        found = list(group)
        yield from sorted(found, key=str) if is_internal else found


def with_group_names(world: World) -> Expected:
    """What is there, with groups' names in place of the numbers that the server gave them; without what it gave
    to service chains, and parents' uuids, which the names of lists contain, too; and with one address for all of those
    that it gave to services."""
    world = json.loads(_FLAT_ADDRESS.sub("flat", json.dumps(world)))
    names = {
        str(group["security_group_id"]): ":".join(group["fq_name"])
        for group in world.get("security_group", {}).values()
        if not group.get("configured_security_group_id")
    }
    result = actual(world)
    for (kind, _), fields in result.items():
        if kind == "access_control_list":
            fields.pop("parent_uuid")
            for rule in fields.get("access_control_list_entries", {}).get("acl_rule", []):
                for side in ("src_address", "dst_address"):
                    address = rule["match_condition"].get(side, {})
                    if address.get("security_group") in names:
                        address["security_group"] = names[address["security_group"]]
        for information in (*fields.get("chain", {}).values(), *fields.get("steering", {}).values()):
            _forget_given(information)
    return result


def _forget_given(information: Json | bool) -> None:
    """Takes away the VLANs and addresses that chains were given through transparent services, in any order."""
    if isinstance(information, dict):
        information.pop("vlan_tag", None)
        for field in ("service_chain_address", "ipv6_service_chain_address"):
            if information.get(field, "").startswith(("0.", "::")):
                information[field] = "given"


def numbers_by_name(world: World, numbers: dict[str, int]) -> dict[str, int]:
    """The allocations, by the owners' names."""
    found = {}
    for owner, number in numbers.items():
        uuid = owner.split("/")[1]
        for kind in ("routing_instance", "logical_router"):
            if uuid in world.get(kind, {}):
                found[":".join(world[kind][uuid]["fq_name"])] = number
    return found


def deleted_seeds(world: World, seeds: World) -> list[Json]:
    """Of what every server has at first, what users deleted."""
    return [
        {"kind": kind, "operation": "DELETE", "data": {"uuid": seed["uuid"]}}
        for kind in ("security_group", "virtual_network", "route_target")
        for seed in seeds[kind].values()
        if mark(seed) is None and seed["fq_name"] not in [data["fq_name"] for data in world.get(kind, {}).values()]
    ]


def users_resources(world: World) -> list[Json]:
    """What users said, as ``Offline.apply`` takes it. A route target to which a user's router refers counts as theirs,
    whoever made it."""
    found = [
        (kind, inputs_of(world, data))
        for kind in ("project", "network_ipam", *USERS_KINDS, *switches.KINDS)
        for data in world.get(kind, {}).values()
        if data["fq_name"][:2] != ["default-domain", "default-project"]
        if mark(data) is None
        and INTERNAL not in data["fq_name"][-1]
        and not _is_seed(kind, data)
        and not _is_orphan(world, data)
    ]
    held = {tuple(entry["to"]) for _, data in found for entry in data.get("route_target_refs", [])}
    for target in world["route_target"].values():
        if target["fq_name"][0] not in SEEDS and (mark(target) is None or tuple(target["fq_name"]) in held):
            found.append(("route_target", {"fq_name": target["fq_name"]}))
    found += [("sub_cluster", {"fq_name": data["fq_name"]}) for data in world.get("sub_cluster", {}).values()]
    for router in world.get("bgp_router", {}).values():
        data: Json = {key: router[key] for key in ("uuid", "fq_name", "bgp_router_parameters") if key in router}
        data["sub_cluster_refs"] = [{"to": entry["to"]} for entry in router.get("sub_cluster_refs") or []]
        found.append(("bgp_router", data))
    return [{"kind": kind, "operation": "CREATE", "data": data} for kind, data in found]


def _is_seed(kind: str, data: Json) -> bool:
    """Whether it is one of the server's IPAMs and templates below the domain."""
    return (kind == "network_ipam" and len(data["fq_name"]) < 3) or data["fq_name"][-1].endswith("-template")


def _is_orphan(world: World, data: Json) -> bool:
    """Whether it lost its parent, without which nobody could create it again; a port tuple may."""
    parent = (data.get("parent_type") or "").replace("-", "_")
    return parent == "service_instance" and data.get("parent_uuid") not in world.get(parent, {})


def users_sessions(world: World) -> list[Json]:
    """The references between BGP routers that users wrote, once all routers are there."""
    found = []
    for uuid, router in world.get("bgp_router", {}).items():
        entries = [
            {"to": entry["to"], "attr": entry.get("attr") or {}}
            for entry in router.get("bgp_router_refs") or []
            if normal(entry.get("attr") or {}) != contrail_bgp.MESH_ATTRIBUTE
        ]
        if entries:
            data = {"uuid": uuid, "fq_name": router["fq_name"], "bgp_router_refs": entries}
            found.append({"kind": "bgp_router", "operation": "UPDATE", "data": data})
    return found


def inputs_of(world: World, data: Json) -> Json:
    """The fields of a resource that users wrote."""
    found = {field: value for field, value in data.items() if field not in SERVERS_FIELDS}
    found.pop("parent_uuid", None)
    for field in [field for field in found if field.endswith("_refs")]:
        targets = world.get(field.removesuffix("_refs"), {})
        entries = [
            entry
            for entry in found[field]
            if not _is_ours(world, data, entry) and INTERNAL not in entry["to"][-1]
            if not _is_orphan(world, targets.get(entry["uuid"], {}))
            # A user's reference to what was made for another is to a route target; those to others are ours.
            if field == "route_target_refs" or mark(targets.get(entry["uuid"], {})) is None
        ]
        found[field] = [{name: entry[name] for name in ("to", "attr") if name in entry} for entry in entries]
    return found


def _is_ours(world: World, holder: Json, entry: Json) -> bool:
    target = world["route_target"].get(entry["uuid"])
    return target is not None and (mark(target) or ["", "", ""])[2] == holder["uuid"]
