"""The naive oracle's part for route targets: which instances and routers refer to which targets (docs/contrail.md D.1,
D.7, D.11). Numbers are ``{owner: number}`` as they are allocated, owner ``<installation>/<origin uuid>/<purpose>``."""

from __future__ import annotations

import ipaddress

from tests.oracle.contrail_world import Expected, Json, World, mark, resources, targets

SPECIAL = {
    ("default-domain", "default-project", "ip-fabric", "__default__"),
    ("default-domain", "default-project", "__link_local__", "__link_local__"),
}


def expected(world: World, numbers: dict[str, int]) -> Expected:
    """route_target: nothing but that it is there, those that users made too; routing_instance: ``route_target_refs``
    {target: import_export, "" for both}; logical_router: ``route_target_refs`` {target: ""}, users' and ours."""
    result: Expected = {}
    pairs, routers = route_target_references(world, numbers)
    for instance in standing_instances(world):
        result["routing_instance", tuple(instance["fq_name"])] = {"route_target_refs": {}}
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
    result: Expected = {("route_target", tuple(t["fq_name"])): {} for t in resources(world, "route_target")}
    for kind in ("routing_instance", "logical_router"):
        for holder in resources(world, kind):
            references: Json = {}
            for entry in holder.get("route_target_refs") or []:
                target = world["route_target"][entry["uuid"]]["fq_name"][0]
                references[target] = (entry.get("attr") or {}).get("import_export") or ""
            result[kind, tuple(holder["fq_name"])] = {"route_target_refs": dict(sorted(references.items()))}
    return result


def route_target_references(
    world: World, numbers: dict[str, int]
) -> tuple[dict[tuple[tuple[str, ...], str], set[str]], dict[tuple[str, ...], set[str]]]:
    """({(instance, target): directions}, {router: targets})."""
    pairs: dict[tuple[tuple[str, ...], str], set[str]] = {}
    routers: dict[tuple[str, ...], set[str]] = {}

    def add(instance: Json | None, target: str | None, *directions: str) -> None:
        if instance is not None and target is not None and tuple(instance["fq_name"]) not in SPECIAL:
            pairs.setdefault((tuple(instance["fq_name"]), target), set()).update(directions)

    for instance in standing_instances(world):
        below = instance.get("routing_instance_is_default") or instance.get("parent_uuid") in world["virtual_network"]
        if below:
            add(instance, own_target(world, numbers, instance), "import", "export")
    for network in resources(world, "virtual_network"):
        primary = primary_instance(world, network)
        for source in (network, *targets(world, network, "bgpvpn")):
            for target, directions in listed(world, source):
                add(primary, target, *directions)
    for router in resources(world, "logical_router"):
        users, given = users_targets(world, router)
        own = target_of_router(world, numbers, router)
        routers[tuple(router["fq_name"])] = {*users, *([own] if own and not given else [])}
        projects = [p for p in resources(world, "project") if p["uuid"] == router.get("parent_uuid")]
        of_router = [(t, {"import", "export"}) for t in configured(world, router, "configured_route_target_list")]
        of_router += [pair for bgpvpn in targets(world, router, "bgpvpn") for pair in listed(world, bgpvpn)]
        if router.get("logical_router_type") == "vxlan-routing" or any(p.get("vxlan_routing") for p in projects):
            joined = internal_networks(world, router)
        else:
            interfaces = targets(world, router, "virtual_machine_interface")
            joined = [network for port in interfaces for network in targets(world, port, "virtual_network")[:1]]
            of_router += [(own, {"import", "export"})] if own else []
        for network in joined:
            for target, directions in of_router:
                add(primary_instance(world, network), target, *directions)
    return pairs, routers


def users_targets(world: World, router: Json) -> tuple[list[str], list[str]]:
    """The targets that users let a router refer to, and those of them that have an effect."""
    held = targets(world, router, "route_target")
    users = [t["fq_name"][0] for t in held if (mark(t) or ["", "", ""])[2] != router["uuid"]]
    return users, [t for t in users if not is_automatic(t, autonomous_system(world))]


def target_of_router(world: World, numbers: dict[str, int], router: Json) -> str | None:
    given = users_targets(world, router)[1]
    return given[0] if given else own_target(world, numbers, router)


def internal_networks(world: World, router: Json) -> list[Json]:
    """The one that the server made for a router in vxlan mode (docs/contrail.md D.7.3)."""
    found = []
    for entry in router.get("virtual_network_refs") or []:
        if (entry.get("attr") or {}).get("logical_router_virtual_network_type") == "InternalVirtualNetwork":
            found += targets(world, {"virtual_network_refs": [entry]}, "virtual_network")
    return found


def listed(world: World, source: Json) -> list[tuple[str, set[str]]]:
    """(target, directions) of the three lists of a network or BGP VPN."""
    found = [(target, {"import", "export"}) for target in configured(world, source, "route_target_list")]
    for direction in ("import", "export"):
        found += [(target, {direction}) for target in configured(world, source, f"{direction}_route_target_list")]
    return found


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
    (docs/contrail.md D.3). Those that compilers made are no input."""
    networks = world.get("virtual_network", {})
    return [
        instance
        for instance in resources(world, "routing_instance")
        if mark(instance) is None
        and (
            instance.get("routing_instance_is_default")
            or instance.get("parent_uuid") in networks
            or instance["fq_name"][-1] in ("__default__", "__link_local__")
        )
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
