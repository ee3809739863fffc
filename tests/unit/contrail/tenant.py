"""A tenant's resources for tests of the intents, and one evaluation over them."""

from __future__ import annotations

from typing import Any

from intentc.compilers.contrail import compiler
from intentc.evaluation import Outcome, Runner
from intentc.loading.schemas import load_schema
from intentc.model import Key, ReferenceClaim, ResourceClaim
from intentc.model.values import thaw
from tests.oracle.contrail import normal
from tests.support.naive_world import NaiveWorld

INSTALLATION = "test"
PROJECT = "default-domain:blue"
LOCAL = {"security_group": "local"}
ALL_V4 = {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}
ALL_V6 = {"subnet": {"ip_prefix": "::", "ip_prefix_len": 0}}
ALL_PORTS = {"start_port": 0, "end_port": 65535}


class Tenant(NaiveWorld):
    """The world of one project; names are given without the project's."""

    def __init__(self, **project: Any) -> None:
        super().__init__(load_schema("contrail"))
        self.project = self.put("project", PROJECT, **project)

    def below(self, kind: str, name: str, **fields: Any) -> Key:
        """A resource of the project."""
        return self.put(kind, f"{PROJECT}:{name}", parent_type="project", **fields)

    def network(self, name: str, **lists: list[str]) -> tuple[Key, Key]:
        """A network and its primary routing instance; lists: ``route_target_list=["target:1:1"]``, …"""
        fields = {field: {"route_target": targets} for field, targets in lists.items()}
        network = self.below("virtual_network", name, **fields)
        instance = self.put(
            "routing_instance",
            f"{PROJECT}:{name}:{name}",
            parent_type="virtual-network",
            routing_instance_is_default=True,
        )
        return network, instance

    def interface(self, name: str, network: Key) -> Key:
        return self.below("virtual_machine_interface", name, virtual_network_refs=[{"uuid": network.uuid}])

    def router(self, name: str, *interfaces: Key, **fields: Any) -> Key:
        references = [{"uuid": interface.uuid} for interface in interfaces]
        return self.below("logical_router", name, virtual_machine_interface_refs=references, **fields)

    def group(self, name: str, *rules: dict[str, Any], number: int = 8000001, **fields: Any) -> Key:
        entries = {"policy_rule": list(rules)}
        return self.below("security_group", name, security_group_entries=entries, security_group_id=number, **fields)

    def number(self, origin: Key, number: int, purpose: str = "route_target") -> None:
        """Give ``origin`` its route target number."""
        self.numbers["route_target_number", f"{INSTALLATION}/{origin.uuid}/{purpose}"] = number

    def run(self, key: Key) -> Outcome:
        return Runner(self.schema, compiler.intents, self, installation=INSTALLATION).run(key)


def rule(src: list[Any], dst: list[Any], **fields: Any) -> dict[str, Any]:
    """A rule of a group: any protocol, IPv4, all ports unless said otherwise."""
    default = {"protocol": "any", "ethertype": "IPv4", "src_ports": [ALL_PORTS], "dst_ports": [ALL_PORTS]}
    return {"direction": ">", "src_addresses": src, "dst_addresses": dst, **default, **fields}


def named(name: str) -> dict[str, str]:
    """The address that names a group of the project."""
    return {"security_group": f"{PROJECT}:{name}"}


def made(outcome: Outcome) -> dict[tuple[str, str], Any]:
    """The claimed objects: (kind, name) → claim."""
    return {(c.name.kind, ":".join(c.name.fq_name)): c for c in outcome.claims if isinstance(c, ResourceClaim)}


def references(outcome: Outcome) -> set[tuple[str, str, str]]:
    """The claimed references: (holder's last name element, target, import_export)."""
    return {
        (c.holder.fq_name[-1], c.target.fq_name[-1], getattr(c.attribute, "import_export", ""))
        for c in outcome.claims
        if isinstance(c, ReferenceClaim)
    }


def entries(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    """The rules of both lists of a group: ``ingress`` and ``egress`` → rules as plain JSON without defaults."""
    found = {}
    for (kind, name), claim in made(outcome).items():
        assert kind == "access_control_list"
        value = dict(claim.properties)["access_control_list_entries"]
        direction = name.rpartition(":")[2].removesuffix("-access-control-list")
        found[direction] = normal(thaw(value)).get("acl_rule", [])
    return found


def sides(rules: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """Source and destination address of each rule."""
    return [(r["match_condition"].get("src_address", {}), r["match_condition"].get("dst_address", {})) for r in rules]


def reasons(outcome: Outcome) -> list[str]:
    return [problem.reason for problem in outcome.problems]
