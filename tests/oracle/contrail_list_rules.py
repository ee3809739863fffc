"""The naive oracle for the rules of a network's list: which of them cover others, and the end of the static list.

Written from docs/contrail.md D.4.3 and D.4.4, importing nothing of intentc.
"""

from __future__ import annotations

import ipaddress

from tests.oracle.contrail_world import Json

ALLOW = "00000000-0000-0000-0000-100000000001"
DENY = "00000000-0000-0000-0000-100000000002"
FABRIC = "default-domain:default-project:ip-fabric"
EVERY_PORT = {"start_port": 0, "end_port": 65535}


def covers(earlier: Json, rule: Json) -> bool:
    one, two = earlier["match_condition"], rule["match_condition"]
    return (
        one["protocol"] in (two["protocol"], "any")
        and all(port_covers(one[side], two[side]) for side in ("src_port", "dst_port"))
        and all(address_covers(one[side], two[side]) for side in ("src_address", "dst_address"))
    )


def port_covers(earlier: Json, new: Json) -> bool:
    if (new.get("start_port") or 0) < (earlier.get("start_port") or 0):
        return False
    return earlier.get("end_port") == -1 or (new.get("end_port") or 0) <= (earlier.get("end_port") or 0)


def address_covers(earlier: Json, new: Json) -> bool:
    if not subnets(earlier) and not subnets(new):
        return (earlier.get("virtual_network") or "") in (new.get("virtual_network") or "", "any")
    return any(
        inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]
        for inner in subnets(new)
        for outer in subnets(earlier)
    )


def subnets(address: Json) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = [address["subnet"]] if address.get("subnet") else []
    found += address.get("subnet_list") or []
    return [ipaddress.ip_network(f"{s['ip_prefix']}/{s.get('ip_prefix_len') or 0}", strict=False) for s in found]


def trailing(network: Json, rules: list[Json], linked: list[Json], *, routers: bool) -> list[Json]:
    """The end of the static list (docs/contrail.md D.4.4)."""
    me = ":".join(network["fq_name"])
    found = [between(me, me, "pass", ALLOW, "")]
    if network.get("fabric_snat"):
        found += [between(me, FABRIC, "pass", ALLOW, "<>"), between(me, "any", "deny", DENY, "<>")]
    if not routers:
        return [*found, between("any", "any", "deny", DENY, "")]
    for rule in rules:
        match = rule["match_condition"]
        ends = [
            {"virtual_network": match[side]["virtual_network"]} if match[side].get("virtual_network") else match[side]
            for side in ("src_address", "dst_address")
        ]
        copy = between("", "", "deny", rule["rule_uuid"], rule["direction"])
        copy["match_condition"] |= {"src_address": ends[0], "dst_address": ends[1]}
        found.append(copy)
    if network.get("is_provider_network"):
        found.append(between(me, "any", "deny", DENY, "<>"))
    else:
        found += [
            between(me, ":".join(other["fq_name"]), "deny", DENY, "<>")
            for other in linked
            if other.get("is_provider_network")
        ]
    return [*found, between("any", "any", "pass", ALLOW, "")]


def between(source: str, destination: str, action: str, rule_uuid: str, direction: str) -> Json:
    return {
        "rule_uuid": rule_uuid,
        "direction": direction,
        "match_condition": {
            "protocol": "any",
            "src_address": {"virtual_network": source},
            "src_port": EVERY_PORT,
            "dst_address": {"virtual_network": destination},
            "dst_port": EVERY_PORT,
        },
        "action_list": {"simple_action": action},
    }
