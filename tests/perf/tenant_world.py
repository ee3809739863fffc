"""The resources of the world "tenant": projects with policies, service chains, a router, route tables and interfaces.

Values only, as users send them to the API server. The figures are of ``tenants.py``.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Resource = tuple[str, Json]

NETWORKS, INTERFACES, TABLES = 10, 50, 5
IPAM = ["default-domain", "default-project", "default-network-ipam"]
TEMPLATES = {"firewall": "in-network", "nat": "in-network-nat", "late": "in-network"}
"""Service → its mode. ``late`` is named by a policy, and added while it is measured."""

_EVERY_PORT = [{"start_port": -1, "end_port": -1}]
_POLICIES = {"open": (0, 1), "chained": (4, 5), "waiting": (8, 9)}
"""Policy → the networks that attach it. ``chained`` is attached by four, in two pairs."""


def templates() -> list[Resource]:
    """What all projects share."""
    return [
        (
            "service_template",
            {
                "fq_name": ["default-domain", f"bench-{name}"],
                "service_template_properties": {"service_mode": mode, "version": 2},
            },
        )
        for name, mode in TEMPLATES.items()
    ]


def project(number: int) -> list[Resource]:
    """One project: 10 networks, 3 policies, 2 chains, a router, 5 interface route tables, 50 interfaces."""
    path = ["default-domain", f"bench-{number}"]
    found: list[Resource] = [("project", {"fq_name": path})]
    found += [policy(number, name) for name in _POLICIES]
    for place in range(NETWORKS):
        attached = [name for name, places in _POLICIES.items() if place in places]
        attached += ["chained"] if place in (6, 7) else []
        subnet = {"ip_prefix": f"10.{place}.0.0", "ip_prefix_len": 24}
        data: Json = {
            "fq_name": [*path, f"net-{place}"],
            "network_ipam_refs": [{"to": IPAM, "attr": {"ipam_subnets": [{"subnet": subnet}]}}],
            "network_policy_refs": [
                {"to": [*path, name], "attr": {"sequence": {"major": 0, "minor": 0}}} for name in attached
            ],
        }
        found.append(("virtual_network", data))
    for name, (left, right) in (("firewall", (4, 5)), ("nat", (6, 7))):
        found += service(number, name, left, right)
    routes = {"route": [{"prefix": "192.168.0.0/16", "next_hop": "10.0.0.9", "next_hop_type": "ip-address"}]}
    for place in range(TABLES):
        data = {"fq_name": [*path, f"table-{place}"], "interface_route_table_routes": routes}
        found.append(("interface_route_table", data))
    for place in range(INTERFACES):
        data = {
            "fq_name": [*path, f"port-{place}"],
            "parent_type": "project",
            "virtual_network_refs": [{"to": [*path, f"net-{place % NETWORKS}"]}],
            "interface_route_table_refs": [{"to": [*path, f"table-{place % TABLES}"]}],
        }
        found.append(("virtual_machine_interface", data))
    ports = [{"to": [*path, f"port-{place}"]} for place in (0, 1, 2)]
    found.append(("logical_router", {"fq_name": [*path, "router"], "virtual_machine_interface_refs": ports}))
    return found


def policy(number: int, name: str, port: int = 80) -> Resource:
    """One policy of a project. ``port``: a port of the rule of ``open``."""
    path = ["default-domain", f"bench-{number}"]

    def rule(left: int, right: int, **fields: Any) -> Json:
        return {
            "rule_uuid": f"30000000-0000-4000-8000-{1000 * number + 10 * left + right:012d}",
            "direction": "<>",
            "protocol": "tcp",
            "src_addresses": [{"virtual_network": ":".join([*path, f"net-{left}"])}],
            "dst_addresses": [{"virtual_network": ":".join([*path, f"net-{right}"])}],
            "src_ports": _EVERY_PORT,
            "dst_ports": _EVERY_PORT,
            "action_list": {"simple_action": "pass"},
            **fields,
        }

    def through(service: str) -> Json:
        return {"action_list": {"simple_action": "pass", "apply_service": [":".join([*path, service])]}}

    rules = {
        "open": [rule(0, 1, dst_ports=[{"start_port": port, "end_port": port}])],
        "chained": [rule(4, 5, **through("firewall")), rule(6, 7, **through("nat"))],
        "waiting": [rule(8, 9, **through("late"))],
    }[name]
    return "network_policy", {"fq_name": [*path, name], "network_policy_entries": {"policy_rule": rules}}


def service(number: int, name: str, left: int, right: int) -> list[Resource]:
    """A service instance with a port tuple, two ports and their addresses."""
    path = ["default-domain", f"bench-{number}"]
    template = {"to": ["default-domain", f"bench-{name}"]}
    found: list[Resource] = [
        ("service_instance", {"fq_name": [*path, name], "service_template_refs": [template]}),
        ("port_tuple", {"fq_name": [*path, name, "ports"]}),
    ]
    for side, network in (("left", left), ("right", right)):
        port = [*path, f"{name}-{side}"]
        data: Json = {
            "fq_name": port,
            "parent_type": "project",
            "virtual_machine_interface_properties": {"service_interface_type": side},
            "virtual_network_refs": [{"to": [*path, f"net-{network}"]}],
            "port_tuple_refs": [{"to": [*path, name, "ports"]}],
        }
        found.append(("virtual_machine_interface", data))
        data = {
            "fq_name": [f"bench-{number}-{name}-{side}"],
            "instance_ip_family": "v4",
            "service_instance_ip": True,
            "virtual_network_refs": [{"to": [*path, f"net-{network}"]}],
            "virtual_machine_interface_refs": [{"to": port}],
        }
        found.append(("instance_ip", data))
    return found
