"""The naive oracle for network policies: the lists of networks and the links of routing instances, by loops alone.

Written from docs/contrail.md D.3 and D.4 without a look at the compiler, and importing nothing of intentc. The form of
a world is that of ``contrail_world.py``.
"""

from __future__ import annotations

import json
import uuid

from tests.oracle.contrail_list_rules import EVERY_PORT, covers, subnets, trailing
from tests.oracle.contrail_route_targets import standing_instances
from tests.oracle.contrail_world import Expected, Json, World, normal, resources, targets

LINK_LOCAL = "default-domain:default-project:__link_local__"
CHAINS = uuid.UUID("6a0c3f0e-4b53-5d0c-9c1e-0d7b1b7a2f11")

# fmt: off
PROTOCOLS = {
    "ah": "51", "dccp": "33", "egp": "8", "esp": "50", "gre": "47", "hopopt": "0", "icmp": "1", "igmp": "2",
    "ip": "0", "ipip": "4", "ipv6-encap": "41", "ipv6-frag": "44", "ipv6-icmp": "58", "icmp6": "58",
    "ipv6-nonxt": "59", "ipv6-opts": "60", "ipv6-route": "43", "ospf": "89", "pgm": "113", "rsvp": "46",
    "sctp": "132", "tcp": "6", "udp": "17", "udplite": "136", "vrrp": "112",
}
# fmt: on


def expected(world: World, translating: list[set[str]], *, routers: bool = True) -> Expected:
    """access_control_list: ``parent_uuid``, ``access_control_list_entries`` (normal); routing_instance:
    ``routing_instance_refs``, sorted names."""
    result = {
        ("access_control_list", name): normal(fields) for name, fields in network_lists(world, routers=routers).items()
    }
    linked = links(world, translating)
    for instance in standing_instances(world):
        name = tuple(instance["fq_name"])
        result["routing_instance", name] = {"routing_instance_refs": linked[name]}
    return result


def actual(world: World) -> Expected:
    """The links that are there, in the same form; lists are those of ``contrail_groups``."""
    result: Expected = {}
    for instance in resources(world, "routing_instance"):
        others = [entry["uuid"] for entry in instance.get("routing_instance_refs") or []]
        linked = (world["routing_instance"][other] for other in others if other in world["routing_instance"])
        found = sorted(name_of(other) for other in linked)
        result["routing_instance", tuple(instance["fq_name"])] = {"routing_instance_refs": found}
    return result


def name_of(resource: Json) -> str:
    return ":".join(resource["fq_name"])


def refers(entry: Json, resource: Json) -> bool:
    if entry.get("uuid"):
        return bool(entry["uuid"] == resource["uuid"])
    return bool(entry["to"] == resource["fq_name"])


def networks(world: World) -> list[Json]:
    return list(world.get("virtual_network", {}).values())


def network_lists(world: World, *, routers: bool = True) -> dict[tuple[str, ...], Json]:
    """The name of each list → its parent and entries."""
    found: dict[tuple[str, ...], Json] = {}
    for network in networks(world):
        attached = attachments(world, network)
        static, dynamic = policy_rules(world, network)
        linked = linked_networks(world, network)
        if (
            any(not timed for _, timed in attached)
            or network.get("is_provider_network")
            or (not attached and (linked or network.get("fabric_snat")))
        ):
            rules = [rule for rule, _ in static]
            for rule in trailing(network, [rule for rule, _ in static], linked, routers=routers):
                if not any(covers(earlier, rule) for earlier in rules):
                    rules.append(rule)
            name = (*network["fq_name"], network["fq_name"][-1])
            entries: Json = {"acl_rule": rules}
            found[name] = {"parent_uuid": network["uuid"], "access_control_list_entries": entries}
        if any(timed for _, timed in attached):
            entries = {"dynamic": True, "acl_rule": [rule for rule, _ in dynamic]}
            found[*network["fq_name"], "dynamic"] = {
                "parent_uuid": network["uuid"],
                "access_control_list_entries": entries,
            }
    return found


def attachments(world: World, network: Json) -> list[tuple[Json | None, bool]]:
    """(policy or None if it is not there, whether it has a timer), in their order (docs/contrail.md D.4.2)."""
    found = []
    for place, entry in enumerate(network.get("network_policy_refs") or []):
        attribute = entry.get("attr") or {}
        sequence, timer = attribute.get("sequence"), attribute.get("timer") or {}
        timed = any(timer.values())
        if sequence is None and timed:
            continue
        order = (0, sequence.get("major") or 0, sequence.get("minor") or 0) if sequence is not None else (1, 0, 0)
        policy = None
        for other in world.get("network_policy", {}).values():
            if refers(entry, other):
                policy = other
        found.append((*order, place, policy, timed))
    sorted_ones = [(policy, timed) for *_, policy, timed in sorted(found, key=lambda item: item[:4])]
    return sorted_ones + [(policy, False) for policy in automatic_policies(world, network)]


def automatic_policies(world: World, network: Json) -> list[Json]:
    """The policies that services with ``auto_policy`` have for a network (docs/contrail.md D.8.6)."""
    found = []
    for service in sorted(resources(world, "service_instance"), key=name_of):
        if not (service.get("service_instance_properties") or {}).get("auto_policy"):
            continue
        ends = service_networks(world, service)
        if ends is not None and name_of(network) in ends and ends[0] != ends[1]:
            rule = {
                "direction": "<>",
                "protocol": "any",
                "src_addresses": [{"virtual_network": ends[0]}],
                "dst_addresses": [{"virtual_network": ends[1]}],
                "src_ports": [EVERY_PORT],
                "dst_ports": [EVERY_PORT],
                "action_list": {"apply_service": [name_of(service)]},
            }
            name = f"_internal_{name_of(service)}"
            found.append({"fq_name": [name], "network_policy_entries": {"policy_rule": [rule]}})
    return found


def service_networks(world: World, service: Json) -> tuple[str, str] | None:
    """The left and the right network of a service, by its template's types of interfaces; None unless it has both."""
    given = (service.get("service_instance_properties") or {}).get("interface_list") or []
    found: dict[str, str] = {}
    for template in targets(world, service, "service_template")[:1]:
        types = (template.get("service_template_properties") or {}).get("interface_type") or []
        for declared, interface in zip(types, given, strict=False):
            side = declared.get("service_interface_type") or ""
            default = f"{':'.join(service['fq_name'][:-1])}:svc-vn-{side}"
            found.setdefault(side, interface.get("virtual_network") or default)
    return (found["left"], found["right"]) if {"left", "right"} <= found.keys() else None


def attaching(world: World, policy: str) -> list[str]:
    """The names of the networks that attach a policy."""
    return sorted(
        name_of(network)
        for network in networks(world)
        if any(attached is not None and name_of(attached) == policy for attached, _ in attachments(world, network))
    )


def linked_networks(world: World, network: Json) -> list[Json]:
    found = []
    for other in networks(world):
        for one, two in ((network, other), (other, network)):
            if any(refers(entry, two) for entry in one.get("virtual_network_refs") or []):
                found.append(other)
                break
    return sorted(found, key=lambda other: list(other["fq_name"]))


def naming_unknown_policies(world: World) -> set[str]:
    """The policies with rules that name a policy which is not there."""
    policies = world.get("network_policy", {}).values()
    known = {name_of(policy) for policy in policies}
    return {
        name_of(policy)
        for policy in policies
        for rule in (policy.get("network_policy_entries") or {}).get("policy_rule") or []
        for side in ("src_addresses", "dst_addresses")
        for address in rule.get(side) or []
        if address.get("network_policy") and address["network_policy"] not in known
    }


Rules = list[tuple[Json, Json]]
"""(the rule in the list, the policy's rule)"""


def policy_rules(world: World, network: Json) -> tuple[Rules, Rules]:
    """The rules that remain after covering, of both lists (docs/contrail.md D.4.3)."""
    static: Rules = []
    dynamic: Rules = []
    for policy, timed in attachments(world, network):
        rules = dynamic if timed else static
        for given in ((policy or {}).get("network_policy_entries") or {}).get("policy_rule") or []:
            for rule in converted(world, network, given):
                if not any(
                    covers(earlier, rule) and (not timed or analyzer(earlier) == analyzer(rule)) for earlier, _ in rules
                ):
                    rules.append((rule, given))
    return static, dynamic


def analyzer(rule: Json) -> str:
    return ((rule.get("action_list") or {}).get("mirror_to") or {}).get("analyzer_name") or ""


def converted(world: World, network: Json, given: Json) -> list[Json]:
    me, action = name_of(network), given.get("action_list")
    protocol = protocol_of(given.get("protocol") or "any", given.get("ethertype"))
    if not action or protocol is None:
        return []
    result = []
    for source in given.get("src_addresses") or []:
        for destination in given.get("dst_addresses") or []:
            pair = applying(world, me, source, destination, bool(action.get("apply_service")))
            if pair is None:
                continue
            if action.get("apply_service"):
                expanded = served(world, network, given, protocol, *pair)
            else:
                expanded = [(one, two, "") for one in members(world, pair[0]) for two in members(world, pair[1])]
            for source_port in given.get("src_ports") or []:
                for destination_port in given.get("dst_ports") or []:
                    for one, two, edge in expanded:
                        own = {**action, "assign_routing_instance": edge}
                        if edge and own.get("simple_action") != "deny":
                            own |= {"simple_action": "pass", "apply_service": []}
                        destination_of_mirror = mirror_destination(world, me, given, *pair)
                        if destination_of_mirror and destination_of_mirror[1]:
                            own["mirror_to"] = {**own["mirror_to"], "analyzer_ip_address": destination_of_mirror[1]}
                        match = {
                            "protocol": protocol,
                            "src_address": one,
                            "src_port": source_port,
                            "dst_address": two,
                            "dst_port": destination_port,
                        }
                        result.append(
                            {
                                "rule_uuid": given.get("rule_uuid"),
                                "direction": given.get("direction"),
                                "match_condition": match,
                                "action_list": own,
                            }
                        )
    return result


def mirror_destination(world: World, me: str, given: Json, one: Json, two: Json) -> tuple[str, str] | None:
    """(network, address) of the left port of the service to which a rule of ``me`` mirrors (docs/contrail.md D.8.7)."""
    name = (given["action_list"].get("mirror_to") or {}).get("analyzer_name")
    if not {one.get("virtual_network"), two.get("virtual_network")} & {me, "any"}:
        return None
    return destination_of(world, name)


def port_mirror(world: World, port: Json) -> tuple[str, str] | None:
    """(network, address) of the left port of the service to which a port is mirrored."""
    mirror = (port.get("virtual_machine_interface_properties") or {}).get("interface_mirror") or {}
    return destination_of(world, (mirror.get("mirror_to") or {}).get("analyzer_name"))


def destination_of(world: World, name: str | None) -> tuple[str, str] | None:
    """(network, address) of the left port of a service."""
    for service in resources(world, "service_instance"):
        if name_of(service) != name:
            continue
        tuples = [t for t in resources(world, "port_tuple") if t.get("parent_uuid") == service["uuid"]]
        machines = [m for m in resources(world, "virtual_machine") if service in targets(world, m, "service_instance")]
        hosts = [("port_tuple", h) for h in sorted(tuples, key=name_of)]
        hosts += [("virtual_machine", h) for h in sorted(machines, key=name_of)]
        for kind, host in hosts:
            for port in sorted(resources(world, "virtual_machine_interface"), key=name_of):
                properties = port.get("virtual_machine_interface_properties") or {}
                if properties.get("service_interface_type") == "left" and host in targets(world, port, kind):
                    for network in targets(world, port, "virtual_network")[:1]:
                        return name_of(network), mirror_address(world, port)
                    return None
    return None


def mirror_address(world: World, port: Json) -> str:
    """The service address of a port; of both families IPv4, unless only an IPv6 address is primary."""
    every = [
        ip
        for ip in sorted(resources(world, "instance_ip"), key=name_of)
        if ip.get("instance_ip_address") and port in targets(world, ip, "virtual_machine_interface")
    ]
    primary = {":" in ip["instance_ip_address"] for ip in every if not ip.get("instance_ip_secondary")}
    serving = [ip["instance_ip_address"] for ip in every if ip.get("service_instance_ip")]
    for version6 in (True, False) if primary == {True} else (False, True):
        for address in serving:
            if (":" in address) == version6:
                return str(address)
    return ""


def mirrored(world: World, network: Json) -> set[str]:
    """The networks of the services to which this one's rules mirror, covered ones too."""
    found = set()
    me = name_of(network)
    for policy, _ in attachments(world, network):
        for given in ((policy or {}).get("network_policy_entries") or {}).get("policy_rule") or []:
            for rule in converted(world, network, given):
                ends = (rule["match_condition"]["src_address"], rule["match_condition"]["dst_address"])
                destination = mirror_destination(world, me, given, *ends)
                if destination and destination[0] != me:
                    found.add(destination[0])
    return found


def applying(world: World, me: str, source: Json, destination: Json, services: bool) -> tuple[Json, Json] | None:
    """The pair as it applies to network ``me``, None if it doesn't."""
    if source.get("security_group") or destination.get("security_group"):
        return None
    one, two = dict(source), dict(destination)
    for address in (one, two):
        if address.get("virtual_network") == "local":
            address["virtual_network"] = me
    if one.get("virtual_network") in (me, "any") or two.get("virtual_network") in (me, "any"):
        return one, two
    for address in (two, one):
        if not address.get("virtual_network") and address.get("network_policy"):
            if me not in attaching(world, address.pop("network_policy")):
                return None
            address["virtual_network"] = me
            return one, two
    if one.get("virtual_network") or two.get("virtual_network") or services:
        return None
    return (one, two) if subnets(one) and subnets(two) else None


def members(world: World, address: Json) -> list[Json]:
    if address.get("network_policy"):
        return [{"virtual_network": name} for name in attaching(world, address["network_policy"])]
    return [address]


def served(
    world: World, network: Json, given: Json, protocol: str, one: Json, two: Json
) -> list[tuple[Json, Json, str]]:
    """(source, destination, my edge of the chain) for each far network (docs/contrail.md D.4.3)."""
    me, services = name_of(network), given["action_list"]["apply_service"]
    found = []
    for ends, left, _, chain in chains(world, network, given, protocol, one, two):
        service = services[0] if left == me else services[-1]
        found.append((*ends, f"{me}:service-{chain}-{service.replace(':', '_')}"))
    return found


def chains(
    world: World, network: Json, given: Json, protocol: str, one: Json, two: Json
) -> list[tuple[tuple[Json, Json], str, str, str]]:
    """((source, destination), left, right, uuid) of the chain with each far network (docs/contrail.md D.8.2)."""
    me = name_of(network)
    ends = (one.get("virtual_network") or "", two.get("virtual_network") or "")
    near = me if me in ends else "any"
    far = 0 if ends[1] == near else 1
    everyone = ends[far] == "any"
    remotes = [
        name_of(other)
        for other in sorted(networks(world), key=name_of)
        if name_of(other) != me
        and ((everyone and other["fq_name"][:-1] == network["fq_name"][:-1]) or name_of(other) == ends[far])
    ]
    found = []
    for remote in remotes:
        addresses = [dict(one), dict(two)]
        addresses[far]["virtual_network"] = remote
        if everyone:
            addresses[1 - far]["virtual_network"] = me
        for address in addresses:
            address.pop("network_policy", None)
        left, right = (remote, me) if far == 0 else (me, remote)
        ports = [
            [[entry.get("start_port") or 0, entry.get("end_port") or 0] for entry in given.get(side) or []]
            for side in ("src_ports", "dst_ports")
        ]
        key = [left, right, given.get("direction") or "", *ports, protocol, given["action_list"]["apply_service"]]
        chain = uuid.uuid5(CHAINS, json.dumps(key, separators=(",", ":"), ensure_ascii=False))
        found.append(((addresses[0], addresses[1]), left, right, str(chain)))
    return found


def protocol_of(name: str, ethertype: str | None) -> str | None:
    if name.lower() == "any":
        return "any"
    if name.isascii() and name.isdigit() and int(name) < 256:
        return name
    if name.lower() == "icmp" and ethertype == "IPv6":
        return "58"
    return PROTOCOLS.get(name.lower())


# Links (docs/contrail.md D.3)


def links(world: World, translating: list[set[str]]) -> dict[tuple[str, ...], list[str]]:
    """Each primary routing instance → those that it is linked with."""
    wanted = {name_of(network): wishes(world, network, translating) for network in networks(world)}
    pairs = [(name_of(network), other) for network in networks(world) for other in mirrored(world, network)]
    for port in resources(world, "virtual_machine_interface"):
        destination = port_mirror(world, port)
        for network in targets(world, port, "virtual_network")[:1] if destination else []:
            pairs.append((name_of(network), destination[0] if destination else ""))
    for one, other in pairs:
        wanted[one].add(other)
        wanted[other].add(one)

    def expanded(network: str) -> set[str]:
        found = wanted[network] - {"*"}
        if "*" in wanted[network]:
            project = network.rpartition(":")[0]
            found |= {other for other in wanted if other.rpartition(":")[0] == project}
            found |= {other for other in wanted if network in wanted[other]}
        return found - {network}

    everyone = {network: expanded(network) for network in wanted}
    instances = {name_of(instance): instance for instance in world.get("routing_instance", {}).values()}
    result = {}
    for name, instance in instances.items():
        *network, last = instance["fq_name"]
        me = ":".join(network)
        result[tuple(instance["fq_name"])] = (
            sorted(
                primary
                for other in everyone.get(me, set())
                if me in everyone.get(other, set()) and LINK_LOCAL not in (me, other)
                if (primary := f"{other}:{other.rpartition(':')[2]}") in instances
            )
            if last == network[-1] and name in instances
            else []
        )
    return result


def multi_policy(world: World, *names: str) -> bool:
    """Whether chains of several policies may lie between these networks."""
    flags = [n.get("multi_policy_service_chains_enabled") for n in networks(world) if name_of(n) in names]
    return len(flags) == len(names) and all(flags)


def wishes(world: World, network: Json, translating: list[set[str]]) -> set[str]:
    """The networks that this one's rules connect it with, ``*`` for any (docs/contrail.md D.3). ``translating``: the
    networks of each chain that is made and ends with a service that translates addresses."""
    me = name_of(network)
    found: set[str] = set()
    static, dynamic = policy_rules(world, network)
    for rule, given in (*static, *dynamic):
        action = given["action_list"].get("simple_action")
        if action == "deny":
            continue
        ends = [rule["match_condition"][side].get("virtual_network") or "" for side in ("src_address", "dst_address")]
        for near, far in ((ends[1], ends[0]), (ends[0], ends[1])):
            if near not in (me, "any") or far in ("", me):
                continue
            if rule["action_list"].get("assign_routing_instance"):
                if multi_policy(world, me, far) and {me, far} not in translating:
                    found.add(far)
            elif action:
                found.add("*" if far == "any" else far)
    return found
