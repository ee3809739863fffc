"""Checks logical routers: which ports and networks they may connect (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest, Conflict
from . import users_targets
from .rules import ByUuid, Change, Document, Found, Lookup, Rules, Uuids

_GATEWAY = "ExternalGateway"


class LogicalRouterRules(Rules):
    """The rules of logical routers.

    They reject an external gateway with vxlan routing, a network that is both behind a port and the gateway, ports of
    machines, and route targets that the compiler allocates, except for the router's own.
    """

    kind: ClassVar[str] = "logical_router"

    def lookups(self, change: Change) -> Iterable[Lookup]:
        after = change.after or {}
        yield ByUuid("project", after.get("parent_uuid", ""))
        for port in after.get("virtual_machine_interface_refs") or ():
            yield ByUuid("virtual_machine_interface", port["uuid"])

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is not None and change.changes("logical_router_type"):
            raise BadRequest("logical_router_type can't change; delete the router and create another")
        gateways = {
            reference["uuid"]: reference["to"]
            for reference in after.get("virtual_network_refs") or ()
            if (reference.get("attr") or {}).get("logical_router_virtual_network_type", _GATEWAY) == _GATEWAY
        }
        if gateways and _is_vxlan(after, found):
            raise BadRequest("a router in vxlan routing mode can't have an external gateway")
        for port in after.get("virtual_machine_interface_refs") or ():
            for document in found[ByUuid("virtual_machine_interface", port["uuid"])]:
                _check_port(document, gateways)

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        yield from users_targets.lookups_of_lists(self.kind, change)
        yield from users_targets.lookups_of_references(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)
        users_targets.check_references(self.kind, change, found)


def _is_vxlan(router: Document, found: Found) -> bool:
    if router.get("logical_router_type") == "vxlan-routing":
        return True
    projects = found[ByUuid("project", router.get("parent_uuid", ""))]
    return any(project.get("vxlan_routing") for project in projects)


def _check_port(port: Document, gateways: dict[str, list[str]]) -> None:
    name = ":".join(port["fq_name"])
    if port.get("virtual_machine_refs") or port.get("parent_type") == "virtual-machine":
        raise Conflict(f"port {name} is used by a virtual machine; give the router a port of its own")
    for network in port.get("virtual_network_refs") or ():
        if network["uuid"] in gateways:
            raise BadRequest(
                f"network {':'.join(network['to'])} is the router's gateway and has its port {name}; choose one"
            )
