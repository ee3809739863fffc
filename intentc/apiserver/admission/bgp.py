"""Checks BGP routers, BGP as a service, sub-clusters and BGP VPNs, and which networks and routers may refer to BGP VPNs
(docs/contrail.md B.7).

A network and a router that has a port in it must not both have a BGP VPN. A router takes type l3 only; a network whose
forwarding mode is not l2_l3 takes those of its mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from intentc.model import Key, Name

from ..documents import Document
from ..errors import BadRequest
from ..rule_reader import Reader
from ..sources import Source
from . import route_targets
from .rules import Change, Rules
from .subnets import parse_address

_CONFIG = Name("global_system_config", ("default-global-system-config",))
_SYSTEMS = ("autonomous_system", "local_autonomous_system")
_ZONES = "control_node_zone_refs"
_ZONE_SORT = "bgpaas_control_node_zone_type"


class BgpRouterRules(Rules):
    """A router of a sub-cluster has the sub-cluster's autonomous system; a control node has one zone at most."""

    kind: ClassVar[str] = "bgp_router"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        parameters = _parameters(change.after)
        await _check_systems("bgp_router_parameters", _parameters(change.before), parameters, reader)
        zones = (change.after or {}).get(_ZONES) or ()
        if len(zones) > 1 and change.changes(_ZONES):
            raise BadRequest(f"{_ZONES}: a BGP router has one control node zone at most; leave the others out")
        is_new = change.changes(_ZONES) or parameters.get("router_type") != _parameters(change.before).get(
            "router_type"
        )
        if zones and is_new and parameters.get("router_type") != "control-node":
            raise BadRequest(
                f"{_ZONES}: only a BGP router with router_type control-node has a zone; set that, or leave the zone out"
            )

    async def verify(self, change: Change, reader: Reader) -> None:
        if not any(map(change.changes, ("bgp_router_parameters", "sub_cluster_refs"))):
            return
        system = _parameters(change.after).get("autonomous_system")
        router = await reader.by_uuid(self.kind, change.uuid)
        for cluster in await reader.following([router], "sub_cluster"):
            expected = cluster.get("sub_cluster_asn")
            if system and expected and system != expected:
                raise BadRequest(
                    f"bgp_router_parameters.autonomous_system is {system}, and the sub-cluster "
                    f"{':'.join(cluster['fq_name'])} has {expected}; give the sub-cluster's"
                )


class BgpAsAServiceRules(Rules):
    """A shared service needs an address, and stays shared. It has one zone of each sort at most."""

    kind: ClassVar[str] = "bgp_as_a_service"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is not None and change.changes("bgpaas_shared"):
            raise BadRequest("bgpaas_shared can't change; delete the service and create another")
        address = after.get("bgpaas_ip_address")
        if change.changes("bgpaas_ip_address") or change.before is None:
            if address:
                parse_address(address, "bgpaas_ip_address")
            elif after.get("bgpaas_shared"):
                raise BadRequest("bgpaas_ip_address is missing; a shared service needs the address of its router")
        await _check_systems("bgp_as_a_service", _of_service(change.before), _of_service(after), reader)
        zones = (after.get(_ZONES) or ()) if change.changes(_ZONES) else ()
        sorts = [(zone.get("attr") or {}).get(_ZONE_SORT) for zone in zones]
        for sort in ("primary", "secondary"):
            if sorts.count(sort) > 1:
                raise BadRequest(f"{_ZONES}: more than one zone is the {sort} one; leave the others out")


class SubClusterRules(Rules):
    """The autonomous system can't change: routers and sessions depend on it."""

    kind: ClassVar[str] = "sub_cluster"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.before is not None and change.changes("sub_cluster_asn"):
            raise BadRequest("sub_cluster_asn can't change; delete the sub-cluster and create another")


def _parameters(document: Document | None) -> Document:
    return (document or {}).get("bgp_router_parameters") or {}


def _of_service(document: Document | None) -> Document:
    """The autonomous systems of a service, those of its session included."""
    document = document or {}
    session = document.get("bgpaas_session_attributes")
    local = session.get(_SYSTEMS[1]) if isinstance(session, dict) else None
    return {_SYSTEMS[0]: document.get(_SYSTEMS[0]), _SYSTEMS[1]: local}


def _new_long(before: Document, after: Document) -> Iterator[tuple[str, Any]]:
    """(field, autonomous system) for each changed one that has four bytes."""
    for field in _SYSTEMS:
        system = after.get(field)
        if isinstance(system, int) and system > route_targets.LONGEST_TWO_BYTE_SYSTEM and system != before.get(field):
            yield field, system


async def _check_systems(where: str, before: Document, after: Document, reader: Reader) -> None:
    for field in _SYSTEMS:
        system = after.get(field)
        if isinstance(system, int) and system < 0 and system != before.get(field):
            raise BadRequest(f"{where}: {field} {system} is negative; give 1 to 4294967295")
    for field, system in _new_long(before, after):
        if system >= 1 << 32:
            raise BadRequest(f"{where}: {field} {system} is too large; give 1 to 4294967295")
        if not (await reader.by_name(_CONFIG) or {}).get("enable_4byte_as"):
            raise BadRequest(
                f"{where}: {field} {system} needs enable_4byte_as of the global system config; set it first"
            )


_VPNS, _PORT = "bgpvpn_refs", "virtual_machine_interface"


class BgpVpnRules(route_targets.NamingRules):
    """No list may name a route target that the compiler allocates; the type stays while something refers to it."""

    kind: ClassVar[str] = "bgpvpn"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.before is None or type_of(change.before) == type_of(change.new):
            return
        for kind in ("virtual_network", "logical_router"):
            for holder in await reader.referrers([Key(self.kind, change.uuid)], kind):
                raise BadRequest(
                    f"bgpvpn_type can't change while {kind} {':'.join(holder['fq_name'])} refers to this BGP VPN; "
                    f"remove that reference first"
                )


def type_of(bgpvpn: Document) -> str:
    """The type of a BGP VPN."""
    return bgpvpn.get("bgpvpn_type") or "l3"


async def check_network(change: Change, reader: Reader) -> None:
    """Check the BGP VPNs of a network. Raises ``BadRequest``."""
    after, is_new = change.new, change.changes(_VPNS)
    if not after.get(_VPNS) or not (is_new or change.changes("virtual_network_properties")):
        return
    mode = (after.get("virtual_network_properties") or {}).get("forwarding_mode") or "l2_l3"
    network = await reader.by_uuid("virtual_network", change.uuid)
    for bgpvpn in await reader.following([network], "bgpvpn"):
        if mode not in ("l2_l3", type_of(bgpvpn)):
            raise BadRequest(
                f"{_VPNS}: {':'.join(bgpvpn['fq_name'])} has bgpvpn_type {type_of(bgpvpn)}, which does not fit "
                f"forwarding_mode {mode}; set l2_l3, or choose another"
            )
    if not is_new or change.before is None:
        return
    ports = await reader.referrers([Key("virtual_network", change.uuid)], _PORT)
    for router in await reader.referrers([Key(_PORT, port["uuid"]) for port in ports], "logical_router"):
        if router.get(_VPNS):
            raise BadRequest(
                f"{_VPNS}: the logical router {':'.join(router['fq_name'])} has a port in this network and a BGP VPN "
                f"({':'.join(router[_VPNS][0]['to'])}); remove one of the two"
            )


async def check_router(change: Change, reader: Reader) -> None:
    """Check the BGP VPNs of a router. Raises ``BadRequest``."""
    if not change.new.get(_VPNS) or not (change.changes(_VPNS) or change.changes(f"{_PORT}_refs")):
        return
    router = await reader.by_uuid("logical_router", change.uuid)
    for bgpvpn in await reader.following([router], "bgpvpn"):
        if type_of(bgpvpn) != "l3":
            raise BadRequest(
                f"{_VPNS}: {':'.join(bgpvpn['fq_name'])} has bgpvpn_type {type_of(bgpvpn)}; a router takes l3 only"
            )
    for network in await reader.following([router], _PORT, "virtual_network"):
        if network.get(_VPNS):
            raise BadRequest(
                f"{_VPNS}: the network {':'.join(network['fq_name'])}, in which the router has a port, has a BGP VPN "
                f"({':'.join(network[_VPNS][0]['to'])}); remove one of the two"
            )
