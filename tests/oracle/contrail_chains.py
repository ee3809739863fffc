"""The naive oracle's part for service chains: their routing instances, and what these refer to, by loops alone.

Written from docs/contrail.md D.8 without a look at the compiler, and importing nothing of intentc. The form of a world
is that of ``contrail_world.py``.
"""

from __future__ import annotations

import ipaddress

from tests.oracle import contrail_transparent
from tests.oracle.contrail_policies import (
    applying,
    attachments,
    chains,
    multi_policy,
    name_of,
    networks,
    port_mirror,
    protocol_of,
)
from tests.oracle.contrail_route_targets import listed, own_target, primary_instance
from tests.oracle.contrail_world import Expected, Json, World, mark, normal, resources, targets

INFORMATION = (
    "service_chain_information",
    "ipv6_service_chain_information",
    "evpn_service_chain_information",
    "evpn_ipv6_service_chain_information",
)


def expected(world: World, numbers: dict[str, int]) -> Expected:
    """routing_instance: what a chain writes on its own and on primary ones: ``route_target_refs`` and
    ``routing_instance_refs``, ``chain`` (information and has_pnf). route_target: that it is there.
    virtual_machine_interface: ``vrf_assign_table``, its normal rules; ``mirror``, its address; and what
    ``contrail_transparent`` says."""
    found: Expected = {}
    for instance in resources(world, "routing_instance"):
        if mark(instance) is None:
            found["routing_instance", tuple(instance["fq_name"])] = {"chain": {}}
    for chain in ready(world):
        contrail_transparent.add_addresses(chain, found)
    chains_there = standing(world)
    for chain in chains_there:
        add_chain(world, numbers, chain, found)
    for port in resources(world, "virtual_machine_interface"):
        table = normal(assign_table(world, port, chains_there))
        # With a name that is no service's it stays as the user gave it.
        of_service = len(analyzer_of(port).split(":")) == 3
        address = (port_mirror(world, port) or ("", ""))[1] if of_service else mirror_address_of(port)
        found["virtual_machine_interface", tuple(port["fq_name"])] = {"vrf_assign_table": table, "mirror": address}
    contrail_transparent.add_steering(world, numbers, chains_there, found)
    return found


def vlan_owners(world: World, installation: str = "default") -> set[str]:
    """The owners of VLANs."""
    return {f"{installation}{owner}" for owner in contrail_transparent.vlan_owners(world, standing(world))}


def actual(world: World) -> Expected:
    """What is there, in the same form; references are those of other parts."""
    found: Expected = {}
    for instance in resources(world, "routing_instance"):
        fields = {field: instance.get(field) for field in (*INFORMATION, "routing_instance_has_pnf")}
        found["routing_instance", tuple(instance["fq_name"])] = {"chain": normal(fields)}
    for port in resources(world, "virtual_machine_interface"):
        rules = normal((port.get("vrf_assign_table") or {}).get("vrf_assign_rule") or [])
        fields = {"vrf_assign_table": rules, "mirror": mirror_address_of(port)}
        found["virtual_machine_interface", tuple(port["fq_name"])] = fields
    for name, fields in contrail_transparent.actual(world).items():
        found.setdefault(name, {}).update(fields)
    return found


def mirror_of(port: Json) -> Json:
    """What a port is mirrored to."""
    mirror = (port.get("virtual_machine_interface_properties") or {}).get("interface_mirror") or {}
    found: Json = mirror.get("mirror_to") or {}
    return found


def mirror_address_of(port: Json) -> str:
    """The address to which a port is mirrored."""
    return str(mirror_of(port).get("analyzer_ip_address") or "")


def analyzer_of(port: Json) -> str:
    """The name of the analyzer of a port."""
    return str(mirror_of(port).get("analyzer_name") or "")


def standing(world: World) -> list[Json]:
    """The chains that are ready, and have addresses for their transparent services."""
    return [chain for chain in ready(world) if all(any(service["addresses"][0]) for service in chain["services"])]


def ready(world: World) -> list[Json]:
    """The chains for which both networks ask and whose services can all serve."""
    found = []
    for uuid, sides in asked(world).items():
        left, right = sides["names"]
        if left not in sides or right not in sides:
            continue
        given = sides[left]
        ends = [network for name in (left, right) for network in networks(world) if name_of(network) == name]
        services = [serving(world, name, given, uuid) for name in given["action_list"]["apply_service"]]
        distinct = len({name.replace(":", "_") for name in given["action_list"]["apply_service"]}) == len(services)
        if distinct and all(services) and all(primary_instance(world, network) for network in ends):
            found.append({"uuid": uuid, "rule": given, "ends": ends, "services": services})
    return found


def translating(world: World) -> list[set[str]]:
    """The networks of each chain that stands and ends with a service that translates addresses."""
    return [
        {name_of(network) for network in chain["ends"]}
        for chain in standing(world)
        if chain["services"][-1]["mode"] == "in-network-nat"
    ]


def asked(world: World) -> dict[str, Json]:
    """Chain → its ``names`` (left, right), and by name of the network that asks the first rule by which it does."""
    found: dict[str, Json] = {}
    for network in networks(world):
        for policy, _ in attachments(world, network):
            for given in ((policy or {}).get("network_policy_entries") or {}).get("policy_rule") or []:
                protocol = protocol_of(given.get("protocol") or "any", given.get("ethertype"))
                # Without ports a rule has no effect at all.
                complete = given.get("src_ports") and given.get("dst_ports")
                if not (given.get("action_list") or {}).get("apply_service") or protocol is None or not complete:
                    continue
                for source in given.get("src_addresses") or []:
                    for destination in given.get("dst_addresses") or []:
                        pair = applying(world, name_of(network), source, destination, services=True)
                        for _, left, right, uuid in chains(world, network, given, protocol, *pair) if pair else []:
                            found.setdefault(uuid, {"names": (left, right)}).setdefault(name_of(network), given)
    return found


def serving(world: World, name: str, given: Json, chain: str) -> Json | None:
    """A service's mode, whether it is a physical device, and the addresses (left, right) by which it serves; of a
    transparent one also its hosts with their ports."""
    for service in resources(world, "service_instance"):
        if name_of(service) != name:
            continue
        properties: Json = {}
        for template in targets(world, service, "service_template")[:1]:
            properties = template.get("service_template_properties") or {}
        mode = properties.get("service_mode") or "transparent"
        physical = properties.get("service_virtualization_type") == "physical-device"
        tuples = [t for t in resources(world, "port_tuple") if t.get("parent_uuid") == service["uuid"]]
        machines = [m for m in resources(world, "virtual_machine") if service in targets(world, m, "service_instance")]
        hosts = [("port_tuple", h) for h in sorted(tuples, key=name_of)]
        hosts += [("virtual_machine", h) for h in sorted(machines, key=name_of)]
        if mode == "transparent":
            steered = contrail_transparent.hosts_with_ports(world, hosts)
            given_addresses = contrail_transparent.given_addresses(world, chain, name)
            fields = {"name": name, "mode": mode, "physical": physical}
            return {**fields, "addresses": [given_addresses] * 2, "hosts": steered} if steered else None
        for kind, host in hosts:
            left, right = (addresses(world, kind, host, side) for side in ("left", "right"))
            if any(left) and (any(right) or mode == "in-network-nat" or given.get("direction") == ">"):
                return {
                    "name": name,
                    "mode": mode,
                    "physical": physical,
                    "addresses": (left, right),
                    "hosts": [],
                }
    return None


def addresses(world: World, kind: str, host: Json, side: str) -> list[str]:
    """The IPv4 and the IPv6 service address of the host's first port on a side."""
    for port in sorted(resources(world, "virtual_machine_interface"), key=name_of):
        properties = port.get("virtual_machine_interface_properties") or {}
        if properties.get("service_interface_type") == side and host in targets(world, port, kind):
            found = ["", ""]
            for ip in sorted(resources(world, "instance_ip"), key=name_of, reverse=True):
                address = ip.get("instance_ip_address") or ""
                serves = address and ip.get("service_instance_ip")
                if serves and port in targets(world, ip, "virtual_machine_interface"):
                    found[":" in address] = address
            return found
    return ["", ""]


def add_chain(world: World, numbers: dict[str, int], chain: Json, found: Expected) -> None:
    names = [name_of(network) for network in chain["ends"]]
    primaries = [(*network["fq_name"], network["fq_name"][-1]) for network in chain["ends"]]
    own = [own_target(world, numbers, primary_instance(world, network) or {}) for network in chain["ends"]]
    joined = multi_policy(world, *names) and chain["services"][-1]["mode"] != "in-network-nat"
    before: tuple[str, ...] | None = None
    last = len(chain["services"]) - 1
    for place, service in enumerate(chain["services"]):
        sides = [0] if service["mode"] == "in-network-nat" else [0, 1]
        instances = [
            (*names[side].split(":"), f"service-{chain['uuid']}-{service['name'].replace(':', '_')}") for side in (0, 1)
        ]
        for side in sides:
            edge = place == (0 if side == 0 else last)
            fields = {"chain": information(chain, service, side, edge), "route_target_refs": {}}
            empty: Json = {"routing_instance_refs": [], "static_route_entries": []}
            found["routing_instance", instances[side]] = fields | empty
            for instance in resources(world, "routing_instance"):
                if tuple(instance["fq_name"]) == instances[side]:
                    refer(found, instances[side], own_target(world, numbers, instance), "")
            if edge:
                exports = edge_exports(world, chain["ends"][side])
                if (chain["ends"][side].get("virtual_network_properties") or {}).get("allow_transit"):
                    exports.append(own[side] or "")
                for target in exports:
                    refer(found, instances[side], target, "export")
            if service["physical"]:
                found["routing_instance", primaries[side]]["chain"]["routing_instance_has_pnf"] = True
        if before is not None:
            link(found, before, instances[0])
        elif place == 0 and not joined:
            link(found, primaries[0], instances[0])
        else:
            refer(found, instances[0], own[0], "import")
        before = instances[1] if 1 in sides else None
    if before is not None and joined:
        refer(found, before, own[1], "import")
    elif before is not None:
        link(found, before, primaries[1])


def edge_exports(world: World, network: Json) -> list[str]:
    """What is both imported and exported, by the lists of the network or of one of its BGP VPNs."""
    found = []
    for source in (network, *targets(world, network, "bgpvpn")):
        directions: dict[str, set[str]] = {}
        for target, how in listed(world, source):
            directions.setdefault(target, set()).update(how)
        found += [target for target, how in directions.items() if how == {"import", "export"}]
    return found


def information(chain: Json, service: Json, side: int, edge: bool) -> Json:
    found: Json = {"routing_instance_has_pnf": service["physical"]}
    if side == 1 and chain["rule"].get("direction") == ">":
        return dict(normal(found))
    near, far = chain["ends"][side], chain["ends"][1 - side]
    internal = "__contrail_lr_internal_vn_" in near["fq_name"][-1]
    properties = chain["rule"]["action_list"].get("service_properties") or {}
    for version, field in ((4, INFORMATION[2 * internal]), (6, INFORMATION[2 * internal + 1])):
        address = service["addresses"][side][version == 6]
        if address:
            found[field] = {
                "service_chain_id": chain["uuid"],
                "service_instance": service["name"],
                "prefix": subnets_of(far, version),
                "routing_instance": ":".join([*far["fq_name"], far["fq_name"][-1]]),
                "source_routing_instance": ""
                if service["mode"] == "transparent"
                else ":".join([*near["fq_name"], near["fq_name"][-1]]),
                "service_chain_address": address,
                "sc_head": internal and edge,
                "retain_as_path": properties.get("retain_as_path"),
            }
    return dict(normal(found))


def subnets_of(network: Json, version: int) -> list[str]:
    found = []
    for entry in network.get("network_ipam_refs") or []:
        for one in (entry.get("attr") or {}).get("ipam_subnets") or []:
            subnet = one.get("subnet") or {}
            if subnet.get("ip_prefix") and ipaddress.ip_address(subnet["ip_prefix"]).version == version:
                found.append(f"{subnet['ip_prefix']}/{subnet.get('ip_prefix_len') or 0}")
    return found


def assign_table(world: World, port: Json, chains_there: list[Json]) -> list[Json]:
    """The rules of a port's table (docs/contrail.md D.8.8)."""
    side = (port.get("virtual_machine_interface_properties") or {}).get("service_interface_type")
    own_networks = targets(world, port, "virtual_network")
    if side not in ("left", "right") or not own_networks:
        return []
    network = name_of(own_networks[0])
    services = [":".join(t["fq_name"][:-1]) for t in targets(world, port, "port_tuple")]
    for machine in targets(world, port, "virtual_machine"):
        services += [name_of(service) for service in targets(world, machine, "service_instance")[:1]]
    rules: list[Json] = []
    for service in dict.fromkeys(services):
        for chain in sorted(chains_there, key=lambda chain: str(chain["uuid"])):
            names = [serving["name"] for serving in chain["services"]]
            ends = [name_of(end) for end in chain["ends"]]
            if service not in names or network not in ends or service == names[0 if side == "left" else -1]:
                continue
            mode = chain["services"][names.index(service)]["mode"]
            if mode == "transparent" or (mode == "in-network-nat" and network == ends[1]):
                continue
            given = chain["rule"]
            for source in given["src_ports"]:
                for destination in given["dst_ports"]:
                    first, second = (destination, source) if side == "left" else (source, destination)
                    protocol = protocol_of(given.get("protocol") or "any", given.get("ethertype"))
                    rules.append(
                        {
                            "match_condition": {"protocol": protocol, "src_port": first, "dst_port": second},
                            "routing_instance": f"{network}:service-{chain['uuid']}-{service.replace(':', '_')}",
                            "ignore_acl": True,
                        }
                    )
    if not rules:
        return []
    everything = {"start_port": 0, "end_port": 65535}
    own: list[Json] = []
    for kind in ("instance_ip", "floating_ip", "alias_ip"):
        for resource in sorted(resources(world, kind), key=name_of):
            address = resource.get(f"{kind}_address")
            if address and port in targets(world, resource, "virtual_machine_interface"):
                subnet = {"ip_prefix": address, "ip_prefix_len": 128 if ":" in address else 32}
                match = {"src_address": {"subnet": subnet}, "protocol": "any"}
                match |= {"src_port": everything, "dst_port": everything}
                own.append({"match_condition": match, "routing_instance": f"{network}:{network.rpartition(':')[2]}"})
    return own + rules


def link(found: Expected, *names: tuple[str, ...]) -> None:
    for one, other in (names, names[::-1]):
        links = found["routing_instance", one].setdefault("routing_instance_refs", [])
        links.append(":".join(other))
        links.sort()


def refer(found: Expected, name: tuple[str, ...], target: str | None, direction: str) -> None:
    if target:
        references = found["routing_instance", name]["route_target_refs"]
        references[target] = direction if references.get(target, direction) == direction else ""
        found["route_target", (target,)] = {}
