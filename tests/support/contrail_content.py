"""What users create in a live system of Contrail: rules of groups, networks with interfaces, a whole tenant."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.support.live_system import PROJECT, LiveSystem

ALL_PORTS = [{"start_port": 0, "end_port": 65535}]
EVERYWHERE = {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}
EVERYWHERE_V6 = {"subnet": {"ip_prefix": "::", "ip_prefix_len": 0}}
LOCAL = {"security_group": "local"}
_AT_ONCE = 12
"""Resources in a request: few enough for an etcd that takes 128 operations in a transaction."""


def group(name: str) -> dict[str, str]:
    """The address that names a group of the default project."""
    return {"security_group": ":".join((*PROJECT, name))}


def rule(uuid: str, source: Any, destination: Any, ethertype: str = "IPv4", protocol: str = "any") -> dict[str, Any]:
    """A rule over all ports; an address or a list of them on each side."""
    return {
        "rule_uuid": uuid,
        "direction": ">",
        "protocol": protocol,
        "ethertype": ethertype,
        "src_addresses": source if isinstance(source, list) else [source],
        "src_ports": ALL_PORTS,
        "dst_addresses": destination if isinstance(destination, list) else [destination],
        "dst_ports": ALL_PORTS,
    }


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    return {"security_group_entries": {"policy_rule": list(given)}}


def acl_rule(uuid: str, source: Any, destination: Any, ethertype: str = "IPv4", protocol: str = "any") -> Any:
    """A rule of an access control list without what means nothing; ``None`` for an empty address."""
    match = {"protocol": protocol, "ethertype": ethertype, "src_port": {"end_port": 65535},
             "dst_port": {"end_port": 65535}}  # fmt: skip
    match |= {"src_address": source} if source else {}
    match |= {"dst_address": destination} if destination else {}
    return {"rule_uuid": uuid, "match_condition": match, "action_list": {"simple_action": "pass"}}


def targets(*names: str) -> dict[str, list[str]]:
    return {"route_target": list(names)}


def anywhere(prefix_and_length: str) -> dict[str, Any]:
    """A subnet as an access control list has it, without what means nothing."""
    prefix, length = prefix_and_length.split("/")
    subnet: dict[str, Any] = {"ip_prefix": prefix}
    return {"subnet": subnet | ({"ip_prefix_len": int(length)} if int(length) else {})}


async def network(world: LiveSystem, name: str, **fields: Any) -> str:
    return await world.create("virtual_network", name, **fields)


async def interface(world: LiveSystem, name: str, network_name: str) -> str:
    """A router's foot in a network."""
    return await world.create("virtual_machine_interface", name, parent_type="project", **foot(network_name))


def foot(network_name: str) -> dict[str, Any]:
    """What makes an interface a router's foot in a network."""
    return {
        "virtual_machine_interface_device_owner": "network:router_interface",
        "virtual_network_refs": [{"to": [*PROJECT, network_name]}],
    }


def feet(*names: str) -> list[dict[str, Any]]:
    """References of a router to its interfaces."""
    return [{"to": [*PROJECT, name]} for name in names]


async def instance_targets(world: LiveSystem, network_name: str) -> dict[str, str]:
    """The route targets of a network's primary routing instance."""
    return await world.targets("routing_instance", *PROJECT, network_name, network_name)


async def own_target(world: LiveSystem, kind: str, *name: str) -> str:
    """The route target with the number that the holder owns."""
    holder = next(r for r in (await world.stored())[kind].values() if tuple(r["fq_name"]) == name)
    number = next(value for owner, value in (await world.numbers()).items() if holder["uuid"] in owner)
    return f"target:64512:{number}"


async def tenant(world: LiveSystem, size: int = 6) -> dict[str, list[str]]:
    """``size`` networks, groups that name each other in a ring, and a router over all networks with two configured
    targets; kind → uuids."""
    made: dict[str, list[str]] = {
        "logical_router": [], "virtual_machine_interface": [], "virtual_network": [], "security_group": []
    }  # fmt: skip
    changes: list[tuple[str, str, dict[str, Any]]] = []

    def create(kind: str, name: str, **fields: Any) -> None:
        uuid = str(uuid4())
        made[kind].append(uuid)
        changes.append(
            ("CREATE", kind, {"uuid": uuid, "fq_name": [*PROJECT, name], "parent_type": "project", **fields})
        )

    for number in range(size):
        lists = {"route_target_list": targets("target:1:1"), "import_route_target_list": targets(f"target:2:{number}")}
        create("virtual_network", f"network-{number}", **lists)
        create("virtual_machine_interface", f"foot-{number}", **foot(f"network-{number}"))
        ring = rules(rule(f"{number:08}-0000-4000-8000-000000000000", group(f"group-{(number + 1) % size}"), LOCAL))
        create("security_group", f"group-{number}", **ring)
    configured = targets("target:3:1", "target:1:1")
    over = feet(*(f"foot-{number}" for number in range(size)))
    create("logical_router", "router", configured_route_target_list=configured, virtual_machine_interface_refs=over)
    for first in range(0, len(changes), _AT_ONCE):
        await world.sync(*changes[first : first + _AT_ONCE])
    return made


async def remove(world: LiveSystem, made: dict[str, list[str]]) -> None:
    """Delete what ``tenant`` made, holders first."""
    for kind, uuids in made.items():
        for uuid in uuids:
            await world.delete(kind, uuid)
