"""Completes and checks logical routers (docs/contrail.md B.5.11, B.7).

They connect ports and networks, have route targets and BGP VPNs (``route_targets``, ``bgp``), and in vxlan routing mode
an internal network.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest, Conflict
from ..integers import parse_integer
from ..rule_reader import Reader
from ..sources import Source
from . import bgp, route_targets
from .rules import Change, Rules, leads_to

_GATEWAY, _INTERNAL = "ExternalGateway", "InternalVirtualNetwork"
_SORT = "logical_router_virtual_network_type"
_NETWORK, _NETWORKS = "virtual_network", "virtual_network_refs"
_PORTS = "virtual_machine_interface_refs"
_CONFIGURED, _VXLAN_ID = "configured_route_target_list", "vxlan_network_identifier"
_LARGEST_VXLAN_ID = (1 << 24) - 1


class LogicalRouterRules(Rules):
    """The rules of logical routers.

    They reject an external gateway with vxlan routing, a network that is both behind a port and the gateway, ports of
    machines, and route targets that the compiler allocates, except for the router's own. A router in vxlan routing mode
    has an internal network, which is created, changed and deleted with it.
    """

    kind: ClassVar[str] = "logical_router"
    adopts_companions: ClassVar[bool] = True
    forces_companions: ClassVar[bool] = False

    def prepare(self, document: Document) -> None:
        own = f"__contrail_lr_internal_vn_{document.get('uuid')}__"
        if isinstance(document.get(_NETWORKS), list):
            document[_NETWORKS] = [entry for entry in document[_NETWORKS] if not leads_to(entry, own)]

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is not None and change.changes("logical_router_type"):
            raise BadRequest("logical_router_type can't change; delete the router and create another")
        vxlan_id = after.get(_VXLAN_ID)
        if vxlan_id and change.changes(_VXLAN_ID) and not 0 < (parse_integer(vxlan_id) or 0) <= _LARGEST_VXLAN_ID:
            raise BadRequest(
                f"{_VXLAN_ID} is {vxlan_id!r}; give a number from 1 to {_LARGEST_VXLAN_ID}, or leave it out"
            )
        gateways = {
            reference["uuid"]: reference["to"]
            for reference in after.get(_NETWORKS) or ()
            if not _is_internal(reference)
        }
        if await _is_vxlan(after, reader):
            if gateways and change.changes(_NETWORKS):
                raise BadRequest(
                    f"{_NETWORKS}: a router in vxlan routing mode can't have an external gateway "
                    f"({':'.join(next(iter(gateways.values())))}); leave it out, or use snat-routing"
                )
            await _keep_internal(change, after, reader, uuids)
        # Who writes another field, such as a compiler, is not kept from it by what became of the ports since.
        ports = after.get(_PORTS) if change.changes(_PORTS) or change.changes(_NETWORKS) else ()
        for port in ports or ():
            document = await reader.by_uuid("virtual_machine_interface", port["uuid"])
            if document is not None:
                _check_port(document, gateways)

    async def verify(self, change: Change, reader: Reader) -> None:
        await route_targets.check_lists(self.kind, change, reader)
        await route_targets.check_references(self.kind, change, reader)
        await bgp.check_router(change, reader)

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.new
        name = _internal_network(change.uuid, after)
        for reference in after.get(_NETWORKS) or ():
            if reference["to"] == list(name.fq_name):
                yield (
                    _NETWORK,
                    {
                        "uuid": reference["uuid"],
                        "fq_name": reference["to"],
                        "parent_type": "project",
                        "parent_uuid": after["parent_uuid"],
                        "display_name": f"LR::{after['name']}",
                        "id_perms": {"user_visible": False},
                        **_copied(after),
                    },
                )

    def companions_changed(self, change: Change) -> Iterable[tuple[Name, Document]]:
        before, after = _copied(change.old), _copied(change.new)
        if before != after:
            yield _internal_network(change.uuid, change.new), {"route_target_list": None, **after}

    def deleted_companions(self, change: Change) -> Iterable[Name]:
        if any(map(_is_internal, change.old.get(_NETWORKS) or ())):
            yield _internal_network(change.uuid, change.old)


def _internal_network(uuid: str, router: Document) -> Name:
    """The name of the internal network of the router with this uuid."""
    return Name(_NETWORK, (*router["fq_name"][:-1], f"__contrail_lr_internal_vn_{uuid}__"))


def _is_internal(reference: Document) -> bool:
    return (reference.get("attr") or {}).get(_SORT) == _INTERNAL


async def _keep_internal(change: Change, after: Document, reader: Reader, uuids: Source) -> None:
    """Let a router in vxlan routing mode refer to its internal network, and to no other as one."""
    name = _internal_network(change.uuid, after)
    for reference in (after.get(_NETWORKS) or ()) if change.changes(_NETWORKS) else ():
        if reference["to"] != list(name.fq_name):
            raise BadRequest(
                f"{_NETWORKS}: {':'.join(reference['to'])} is not the router's internal network, which the server "
                f"makes; leave it out"
            )
    if change.before is None:
        existing = await reader.by_name(name)
        uuid = existing["uuid"] if existing is not None else uuids.uuid(name)
        internal = [{"uuid": uuid, "to": list(name.fq_name), "attr": {_SORT: _INTERNAL}}]
    else:
        internal = [reference for reference in change.before.get(_NETWORKS) or () if _is_internal(reference)]
    if internal:
        after[_NETWORKS] = internal


def _copied(router: Document) -> dict[str, Any]:
    """The fields of the internal network that follow from its router."""
    properties: Document = {"forwarding_mode": "l3"}
    vxlan_id = parse_integer(router.get(_VXLAN_ID) or "")
    if vxlan_id:
        properties["vxlan_network_identifier"] = vxlan_id
    fields: Document = {"virtual_network_properties": properties}
    if (router.get(_CONFIGURED) or {}).get("route_target"):
        fields["route_target_list"] = router[_CONFIGURED]
    return fields


async def _is_vxlan(router: Document, reader: Reader) -> bool:
    if router.get("logical_router_type") == "vxlan-routing":
        return True
    project = await reader.by_uuid("project", router.get("parent_uuid", ""))
    return bool((project or {}).get("vxlan_routing"))


def _check_port(port: Document, gateways: dict[str, list[str]]) -> None:
    name = ":".join(port["fq_name"])
    if port.get("virtual_machine_refs") or port.get("parent_type") == "virtual-machine":
        raise Conflict(f"port {name} is used by a virtual machine; give the router a port of its own")
    for network in port.get("virtual_network_refs") or ():
        if network["uuid"] in gateways:
            raise BadRequest(
                f"network {':'.join(network['to'])} is the router's gateway and has its port {name}; choose one"
            )
