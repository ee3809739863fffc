"""The naive oracle's part for security groups: the two access control lists of each (docs/contrail.md D.5)."""

from __future__ import annotations

from tests.oracle.contrail_world import Expected, Json, World, normal, resources

# fmt: off
PROTOCOLS = {
    "ah": "51", "dccp": "33", "egp": "8", "esp": "50", "gre": "47", "hopopt": "0", "icmp": "1", "igmp": "2",
    "ip": "0", "ipip": "4", "ipv6-encap": "41", "ipv6-frag": "44", "ipv6-icmp": "58", "icmp6": "58",
    "ipv6-nonxt": "59", "ipv6-opts": "60", "ipv6-route": "43", "ospf": "89", "pgm": "113", "rsvp": "46",
    "sctp": "132", "tcp": "6", "udp": "17", "udplite": "136", "vrrp": "112",
}
# fmt: on


def expected(world: World) -> Expected:
    """access_control_list: ``parent_uuid``, ``access_control_list_entries`` (normal)."""
    result: Expected = {}
    for group in resources(world, "security_group"):
        for direction, entries in access_control_lists(world, group).items():
            name = (*group["fq_name"], f"{direction}-access-control-list")
            fields = {"parent_uuid": group["uuid"], "access_control_list_entries": entries}
            result["access_control_list", name] = normal(fields)
    return result


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    result: Expected = {}
    for acl in resources(world, "access_control_list"):
        fields = {"parent_uuid": acl.get("parent_uuid"), "access_control_list_entries": None}
        fields["access_control_list_entries"] = acl.get("access_control_list_entries")
        result["access_control_list", tuple(acl["fq_name"])] = normal(fields)
    return result


def access_control_lists(world: World, group: Json) -> dict[str, Json]:
    """direction → entries"""
    rules: dict[str, list[Json]] = {"ingress": [], "egress": []}
    everything = [{"start_port": 0, "end_port": 65535}]
    for rule in (group.get("security_group_entries") or {}).get("policy_rule") or []:
        protocol = protocol_of(rule.get("protocol") or "none", rule.get("ethertype"))
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
