"""Checks BGP VPNs, and which networks and routers may refer to them (docs/contrail.md B.7).

A network and a router that has a port in it must not both have one. A router takes type l3 only; a network whose
forwarding mode is not l2_l3 takes those of its mode.

It only checks: nothing that it gets is changed. The server reads and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest
from . import users_targets
from .rules import ByUuid, Change, Document, Following, Found, Lookup, Referrers, Rules, Uuids

_FIELD = "bgpvpn_refs"


class BgpVpnRules(Rules):
    """No list may name a route target that the compiler allocates; the type stays while something refers to it."""

    kind: ClassVar[str] = "bgpvpn"

    def lookups(self, change: Change) -> Iterable[Referrers]:
        if change.before is not None and type_of(change.before) != type_of(change.after or {}):
            for kind in ("virtual_network", "logical_router"):
                yield Referrers(ByUuid(self.kind, change.uuid), kind)

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        for lookup in self.lookups(change):
            for holder in found[lookup]:
                raise BadRequest(
                    f"bgpvpn_type can't change while {lookup.kind} {':'.join(holder['fq_name'])} refers to this "
                    f"BGP VPN; remove that reference first"
                )

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_lists(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)


def type_of(bgpvpn: Document) -> str:
    """The type of a BGP VPN."""
    return bgpvpn.get("bgpvpn_type") or "l3"


def lookups_of_network(change: Change) -> Iterable[Lookup]:
    """The resources that ``check_network`` needs."""
    if not (change.after or {}).get(_FIELD):
        return
    network = ByUuid("virtual_network", change.uuid)
    if change.changes(_FIELD) or change.changes("virtual_network_properties"):
        yield Following(network, ("bgpvpn",))
    if change.changes(_FIELD) and change.before is not None:
        yield _routers(change)


def check_network(change: Change, found: Found) -> None:
    """Check the BGP VPNs of a network. Raises ``BadRequest``."""
    after = change.after or {}
    mode = (after.get("virtual_network_properties") or {}).get("forwarding_mode") or "l2_l3"
    for bgpvpn in found.get(Following(ByUuid("virtual_network", change.uuid), ("bgpvpn",)), ()):
        if mode not in ("l2_l3", type_of(bgpvpn)):
            raise BadRequest(
                f"{_FIELD}: {':'.join(bgpvpn['fq_name'])} has bgpvpn_type {type_of(bgpvpn)}, which does not fit "
                f"forwarding_mode {mode}; set l2_l3, or choose another"
            )
    for router in found.get(_routers(change), ()):
        if router.get(_FIELD):
            raise BadRequest(
                f"{_FIELD}: the logical router {':'.join(router['fq_name'])} has a port in this network and a BGP VPN "
                f"({':'.join(router[_FIELD][0]['to'])}); remove one of the two"
            )


def lookups_of_router(change: Change) -> Iterable[Lookup]:
    """The resources that ``check_router`` needs."""
    if (change.after or {}).get(_FIELD) and (
        change.changes(_FIELD) or change.changes("virtual_machine_interface_refs")
    ):
        yield _of_router(change, "bgpvpn")
        yield _of_router(change, "virtual_machine_interface", "virtual_network")


def check_router(change: Change, found: Found) -> None:
    """Check the BGP VPNs of a router. Raises ``BadRequest``."""
    for bgpvpn in found.get(_of_router(change, "bgpvpn"), ()):
        if type_of(bgpvpn) != "l3":
            raise BadRequest(
                f"{_FIELD}: {':'.join(bgpvpn['fq_name'])} has bgpvpn_type {type_of(bgpvpn)}; a router takes l3 only"
            )
    for network in found.get(_of_router(change, "virtual_machine_interface", "virtual_network"), ()):
        if network.get(_FIELD):
            raise BadRequest(
                f"{_FIELD}: the network {':'.join(network['fq_name'])}, in which the router has a port, has a BGP VPN "
                f"({':'.join(network[_FIELD][0]['to'])}); remove one of the two"
            )


def _routers(change: Change) -> Referrers:
    ports = Referrers(ByUuid("virtual_network", change.uuid), "virtual_machine_interface")
    return Referrers(ports, "logical_router")


def _of_router(change: Change, *path: str) -> Following:
    return Following(ByUuid("logical_router", change.uuid), path)
