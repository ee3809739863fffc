"""The naive oracle for Contrail: the whole world in, what should be there out, by loops and sets alone
(docs/engine.md §10).

Written from docs/contrail.md (docs/contrail.md D.1, D.5, D.7) without a look at the compiler, and importing nothing of
intentc. It has no cache, no graph and no order: it looks at everything each time.

A world is ``{kind: {uuid: resource}}``, each resource the dict that the API server stores: ``uuid``, ``fq_name``,
``parent_uuid``, ``<kind>_refs`` with ``uuid``, ``to`` and ``attr``. Numbers are ``{owner: number}`` as the ledger has
them, owner ``<installation>/<origin uuid>/<purpose>``.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from tests.oracle import contrail_policies

Json = dict[str, Any]
World = dict[str, dict[str, Json]]
Expected = dict[tuple[str, tuple[str, ...]], Json]

SPECIAL = {
    ("default-domain", "default-project", "ip-fabric", "__default__"),
    ("default-domain", "default-project", "__link_local__", "__link_local__"),
}

# fmt: off
PROTOCOLS = {
    "ah": "51", "dccp": "33", "egp": "8", "esp": "50", "gre": "47", "hopopt": "0", "icmp": "1", "igmp": "2",
    "ip": "0", "ipip": "4", "ipv6-encap": "41", "ipv6-frag": "44", "ipv6-icmp": "58", "icmp6": "58",
    "ipv6-nonxt": "59", "ipv6-opts": "60", "ipv6-route": "43", "ospf": "89", "pgm": "113", "rsvp": "46",
    "sctp": "132", "tcp": "6", "udp": "17", "udplite": "136", "vrrp": "112",
}
# fmt: on


def normal(value: Any) -> Any:
    """Plain JSON without what means nothing (docs/contrail.md A.1): null, false, zero, empty text, lists and objects,
    at any depth; lists keep their length."""
    if isinstance(value, dict):
        found = {key: normal(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in (None, False, 0, "", [], {})}
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    return value


def expected(world: World, numbers: dict[str, int]) -> Expected:
    """(kind, fq_name) → the fields that compilers write, of everything that should be there:

    access_control_list: ``parent_uuid``, ``access_control_list_entries`` (normal); route_target: nothing but that it
    is there, those that users made too; routing_instance: ``route_target_refs`` {target: import_export, "" for both};
    logical_router: ``route_target_refs`` {target: ""}, users' and ours."""
    result: Expected = {}
    for group in resources(world, "security_group"):
        for direction, entries in access_control_lists(world, group).items():
            name = (*group["fq_name"], f"{direction}-access-control-list")
            fields = {"parent_uuid": group["uuid"], "access_control_list_entries": entries}
            result["access_control_list", name] = normal(fields)
    for name, fields in contrail_policies.network_lists(world).items():
        result["access_control_list", name] = normal(fields)
    linked = contrail_policies.links(world)
    pairs, routers = route_target_references(world, numbers)
    for instance in standing_instances(world):
        name = tuple(instance["fq_name"])
        result["routing_instance", name] = {"route_target_refs": {}, "routing_instance_refs": linked[name]}
    for router in resources(world, "logical_router"):
        name = tuple(router["fq_name"])
        result["logical_router", name] = {"route_target_refs": dict.fromkeys(sorted(routers[name]), "")}
    for name, target in sorted(pairs):
        directions = pairs[name, target]
        both = directions >= {"import", "export"}
        result["routing_instance", name]["route_target_refs"][target] = "" if both else directions.copy().pop()
    named = {target for _, target in pairs} | {target for targets in routers.values() for target in targets}
    for target in named | {t["fq_name"][0] for t in resources(world, "route_target") if mark(t) is None}:
        result["route_target", (target,)] = {}
    return result


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    result: Expected = {}
    for acl in resources(world, "access_control_list"):
        fields = {"parent_uuid": acl.get("parent_uuid"), "access_control_list_entries": None}
        fields["access_control_list_entries"] = acl.get("access_control_list_entries")
        result["access_control_list", tuple(acl["fq_name"])] = normal(fields)
    for target in resources(world, "route_target"):
        result["route_target", tuple(target["fq_name"])] = {}
    for kind in ("routing_instance", "logical_router"):
        for holder in resources(world, kind):
            references: Json = {}
            for entry in holder.get("route_target_refs") or []:
                target = world["route_target"][entry["uuid"]]["fq_name"][0]
                references[target] = (entry.get("attr") or {}).get("import_export") or ""
            found = result[kind, tuple(holder["fq_name"])] = {"route_target_refs": dict(sorted(references.items()))}
            if kind == "routing_instance":
                others = [entry["uuid"] for entry in holder.get("routing_instance_refs") or []]
                linked = (world[kind][uuid]["fq_name"] for uuid in others if uuid in world[kind])
                found["routing_instance_refs"] = sorted(":".join(name) for name in linked)
    return result


def resources(world: World, kind: str) -> list[Json]:
    return list(world.get(kind, {}).values())


def mark(resource: Json) -> list[str] | None:
    """Installation, compiler and origin of an object that a compiler made, None for any other."""
    for pair in ((resource.get("annotations") or {}).get("key_value_pair")) or []:
        if pair["key"] == "intentc":
            return str(pair["value"]).split("/")
    return None


def targets(world: World, holder: Json, kind: str) -> list[Json]:
    """What ``holder`` refers to, as far as it is there, by name."""
    found = {}
    for entry in holder.get(f"{kind}_refs") or []:
        for resource in resources(world, kind):
            if entry.get("uuid") == resource["uuid"] or (
                not entry.get("uuid") and entry.get("to") == resource["fq_name"]
            ):
                found[resource["uuid"]] = resource
    return sorted(found.values(), key=lambda resource: (resource["fq_name"], resource["uuid"]))


# Route targets (docs/contrail.md D.1, D.7)


def route_target_references(
    world: World, numbers: dict[str, int]
) -> tuple[dict[tuple[tuple[str, ...], str], set[str]], dict[tuple[str, ...], set[str]]]:
    """({(instance, target): directions}, {router: targets})."""
    pairs: dict[tuple[tuple[str, ...], str], set[str]] = {}
    routers: dict[tuple[str, ...], set[str]] = {}

    def add(instance: Json | None, target: str | None, *directions: str) -> None:
        if instance is not None and target is not None:
            pairs.setdefault((tuple(instance["fq_name"]), target), set()).update(directions)

    for instance in standing_instances(world):
        below = instance.get("routing_instance_is_default") or instance.get("parent_uuid") in world["virtual_network"]
        if below and tuple(instance["fq_name"]) not in SPECIAL:
            add(instance, own_target(world, numbers, instance), "import", "export")
    for network in resources(world, "virtual_network"):
        primary = primary_instance(world, network)
        for target in configured(world, network, "route_target_list"):
            add(primary, target, "import", "export")
        for direction in ("import", "export"):
            for target in configured(world, network, f"{direction}_route_target_list"):
                add(primary, target, direction)
    for router in resources(world, "logical_router"):
        held = targets(world, router, "route_target")
        users = [t["fq_name"][0] for t in held if (mark(t) or ["", "", ""])[2] != router["uuid"]]
        given = [t for t in users if not is_automatic(t, autonomous_system(world))]
        own = given[0] if given else own_target(world, numbers, router)
        routers[tuple(router["fq_name"])] = {*users, *([own] if own and not given else [])}
        projects = [p for p in resources(world, "project") if p["uuid"] == router.get("parent_uuid")]
        if router.get("logical_router_type") == "vxlan-routing" or any(p.get("vxlan_routing") for p in projects):
            continue
        for interface in targets(world, router, "virtual_machine_interface"):
            for network in targets(world, interface, "virtual_network")[:1]:
                add(primary_instance(world, network), own, "import", "export")
                for target in configured(world, router, "configured_route_target_list"):
                    add(primary_instance(world, network), target, "import", "export")
    return pairs, routers


def own_target(world: World, numbers: dict[str, int], origin: Json) -> str | None:
    """The first of its numbers under which nobody else has a route target."""
    system = autonomous_system(world)
    taken = {t["fq_name"][0] for t in resources(world, "route_target") if mark(t) is None}
    places = {owner.split("/")[2]: n for owner, n in numbers.items() if owner.split("/")[1] == origin["uuid"]}
    for place in sorted(places, key=lambda place: int(place.partition(".")[2] or 1)):
        number = places[place] if system <= 65535 else places[place] - 8000100 + 8000
        if system > 65535 and not 8000 <= number < 32768:
            return None
        if f"target:{system}:{number}" not in taken:
            return f"target:{system}:{number}"
    return None


def standing_instances(world: World) -> list[Json]:
    """Primary ones, the fabric's, and users' below a network that is there; others are deleted
    (docs/contrail.md D.3)."""
    networks = world.get("virtual_network", {})
    return [
        instance
        for instance in resources(world, "routing_instance")
        if instance.get("routing_instance_is_default")
        or instance.get("parent_uuid") in networks
        or instance["fq_name"][-1] in ("__default__", "__link_local__")
    ]


def primary_instance(world: World, network: Json) -> Json | None:
    wanted = [*network["fq_name"], network["fq_name"][-1]]
    return next((i for i in resources(world, "routing_instance") if i["fq_name"] == wanted), None)


def autonomous_system(world: World) -> int:
    system = 64512
    for config in resources(world, "global_system_config"):
        system = config.get("autonomous_system") or 64512
    return system


def configured(world: World, resource: Json, field: str) -> list[str]:
    """What a list names and has an effect (docs/contrail.md B.7): nothing of the range from which compilers number."""
    listed = (resource.get(field) or {}).get("route_target") or []
    return [t for t in listed if is_route_target(t) and not is_automatic(t, autonomous_system(world))]


def is_automatic(text: str, system: int) -> bool:
    _, administrator, number = text.split(":")
    if "." in administrator or int(administrator) != system:
        return False
    return int(number) >= 8000000 if system <= 65535 else 8000 <= int(number) < 32768


def is_route_target(text: str) -> bool:
    parts = text.split(":")
    if len(parts) != 3 or parts[0] != "target" or not (parts[2].isascii() and parts[2].isdigit()):
        return False
    if int(parts[2]) > 4294967295:
        return False
    if parts[1].isascii() and parts[1].isdigit():
        return int(parts[1]) <= 4294967295
    try:
        ipaddress.IPv4Address(parts[1])
    except ValueError:
        return False
    return True


# Security groups (docs/contrail.md D.5)


def access_control_lists(world: World, group: Json) -> dict[str, Json]:
    """direction → entries"""
    rules: dict[str, list[Json]] = {"ingress": [], "egress": []}
    everything = [{"start_port": 0, "end_port": 65535}]
    for rule in (group.get("security_group_entries") or {}).get("policy_rule") or []:
        protocol = protocol_of(rule.get("protocol") or "any", rule.get("ethertype"))
        combinations = [
            (source, source_port, destination, destination_port)
            for source in rule.get("src_addresses") or []
            for source_port in rule.get("src_ports") or everything
            for destination in rule.get("dst_addresses") or []
            for destination_port in rule.get("dst_ports") or everything
        ]
        for source, source_port, destination, destination_port in combinations:
            direction = None
            if source.get("security_group") == "local":
                direction = "egress"
            if destination.get("security_group") == "local":
                direction = "ingress"
            converted = [address(world, group, source), address(world, group, destination)]
            if direction is None or protocol is None or None in converted:
                continue
            match = {
                "protocol": protocol,
                "ethertype": rule.get("ethertype"),
                "src_address": converted[0],
                "src_port": source_port,
                "dst_address": converted[1],
                "dst_port": destination_port,
            }
            action = {"simple_action": "pass"}
            rules[direction].append(
                {"rule_uuid": rule.get("rule_uuid"), "match_condition": match, "action_list": action}
            )
    return {direction: {"acl_rule": found} for direction, found in rules.items()}


def address(world: World, group: Json, given: Json) -> Json | None:
    """The address as a list has it; None if it names a group that isn't there."""
    name = given.get("security_group") or ""
    if name in ("", "local"):
        return {**given, "security_group": ""}
    if name == "any":
        return {**given, "security_group": "-1"}
    for other in resources(world, "security_group"):
        if ":".join(other["fq_name"]) == name and other.get("security_group_id"):
            return {**given, "security_group": str(other["security_group_id"])}
    return None


def protocol_of(name: str, ethertype: str | None) -> str | None:
    if name.lower() == "any":
        return "any"
    if name.isascii() and name.isdigit() and int(name) < 256:
        return name
    if name.lower() == "icmp" and ethertype == "IPv6":
        return "58"
    return PROTOCOLS.get(name.lower())
