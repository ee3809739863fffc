"""Checks BGP routers, BGP as a service, and sub-clusters (docs/contrail.md B.7).

It only checks: nothing that it gets is changed. The server reads and commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ..errors import BadRequest
from . import users_targets
from .rules import ByName, ByUuid, Change, Document, Following, Found, Lookup, Rules, Uuids
from .subnets import parse_address

_CONFIG = ByName("global_system_config", ("default-global-system-config",))
_SYSTEMS = ("autonomous_system", "local_autonomous_system")
_ZONES = "control_node_zone_refs"
_ZONE_SORT = "bgpaas_control_node_zone_type"


class BgpRouterRules(Rules):
    """A router of a sub-cluster has the sub-cluster's autonomous system; a control node has one zone at most."""

    kind: ClassVar[str] = "bgp_router"

    def lookups(self, change: Change) -> Iterable[Lookup]:
        return _lookups_of_systems(_parameters(change.before), _parameters(change.after))

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        parameters = _parameters(change.after)
        _check_systems("bgp_router_parameters", _parameters(change.before), parameters, found)
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

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        changes = any(map(change.changes, ("bgp_router_parameters", "sub_cluster_refs")))
        return (_clusters(change),) if changes else ()

    def verify(self, change: Change, found: Found) -> None:
        system = _parameters(change.after).get("autonomous_system")
        for cluster in found.get(_clusters(change), ()):
            expected = cluster.get("sub_cluster_asn")
            if system and expected and system != expected:
                raise BadRequest(
                    f"bgp_router_parameters.autonomous_system is {system}, and the sub-cluster "
                    f"{':'.join(cluster['fq_name'])} has {expected}; give the sub-cluster's"
                )


class BgpAsAServiceRules(Rules):
    """A shared service needs an address, and stays shared. It has one zone of each sort at most."""

    kind: ClassVar[str] = "bgp_as_a_service"

    def lookups(self, change: Change) -> Iterable[Lookup]:
        return _lookups_of_systems(_of_service(change.before), _of_service(change.after))

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.before is not None and change.changes("bgpaas_shared"):
            raise BadRequest("bgpaas_shared can't change; delete the service and create another")
        address = after.get("bgpaas_ip_address")
        if change.changes("bgpaas_ip_address") or change.before is None:
            if address:
                parse_address(address, "bgpaas_ip_address")
            elif after.get("bgpaas_shared"):
                raise BadRequest("bgpaas_ip_address is missing; a shared service needs the address of its router")
        _check_systems("bgp_as_a_service", _of_service(change.before), _of_service(after), found)
        zones = (after.get(_ZONES) or ()) if change.changes(_ZONES) else ()
        sorts = [(zone.get("attr") or {}).get(_ZONE_SORT) for zone in zones]
        for sort in ("primary", "secondary"):
            if sorts.count(sort) > 1:
                raise BadRequest(f"{_ZONES}: more than one zone is the {sort} one; leave the others out")


class SubClusterRules(Rules):
    """The autonomous system can't change: routers and sessions depend on it."""

    kind: ClassVar[str] = "sub_cluster"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
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


def _clusters(change: Change) -> Following:
    return Following(ByUuid("bgp_router", change.uuid), ("sub_cluster",))


def _new_long(before: Document, after: Document) -> Iterator[tuple[str, Any]]:
    """(field, autonomous system) for each changed one that has four bytes."""
    for field in _SYSTEMS:
        system = after.get(field)
        if isinstance(system, int) and system > users_targets.LONGEST_TWO_BYTE_SYSTEM and system != before.get(field):
            yield field, system


def _lookups_of_systems(before: Document, after: Document) -> Iterable[Lookup]:
    return (_CONFIG,) if any(_new_long(before, after)) else ()


def _check_systems(where: str, before: Document, after: Document, found: Found) -> None:
    for field in _SYSTEMS:
        system = after.get(field)
        if isinstance(system, int) and system < 0 and system != before.get(field):
            raise BadRequest(f"{where}: {field} {system} is negative; give 1 to 4294967295")
    for field, system in _new_long(before, after):
        if system >= 1 << 32:
            raise BadRequest(f"{where}: {field} {system} is too large; give 1 to 4294967295")
        if not any(config.get("enable_4byte_as") for config in found[_CONFIG]):
            raise BadRequest(
                f"{where}: {field} {system} needs enable_4byte_as of the global system config; set it first"
            )
