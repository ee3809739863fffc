"""Completes and checks networks: number, primary routing instance, connections (docs/contrail.md B.5.7, B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model.names import Name

from ..errors import BadRequest, Forbidden
from . import users_targets
from .rules import ByUuid, Change, Document, Found, Lookup, Number, Release, Rules, Uuids

POOL = "virtual_network_id"


class VirtualNetworkRules(Rules):
    """The rules of networks.

    A network gets a number, and an explicit VXLAN id is reserved among the same numbers. Its primary routing instance
    is created and deleted with it. References connect a provider network with other networks only, never two of the
    same sort. Its lists must not name a route target that the compiler allocates.
    """

    kind: ClassVar[str] = "virtual_network"
    takes_numbers: ClassVar[bool] = True

    def lookups(self, change: Change) -> Iterable[Lookup]:
        if "virtual_network_refs" in change.given:
            for reference in (change.after or {}).get("virtual_network_refs") or ():
                yield ByUuid(self.kind, reference["uuid"])

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.changes("virtual_network_network_id") and not change.privileged:
            raise Forbidden("virtual_network_network_id is given by the server; leave it out")
        if change.changes("is_provider_network") and not change.privileged:
            raise BadRequest("is_provider_network can't be changed; the network ip-fabric is the provider network")
        provider = bool(after.get("is_provider_network"))
        for lookup in self.lookups(change):
            for other in found[lookup]:
                if bool(other.get("is_provider_network")) == provider:
                    kind = "a network that is none" if provider else "a provider network"
                    raise BadRequest(
                        f"virtual_network_refs: {':'.join(other['fq_name'])} can't be joined; this network may refer "
                        f"to {kind} only"
                    )
        _check_users_targets(after)

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_lists(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)

    def numbers(self, change: Change) -> Iterable[Number | Release]:
        owner = _vxlan_owner(change.after or change.before or {})
        had, has = _vxlan(change.before), _vxlan(change.after)
        if had and had != has:
            yield Release(POOL, owner)
        if has and had != has:
            yield Number(POOL, owner, value=has)
        if change.after is None:
            yield Release(POOL, change.uuid)
        elif not change.after.get("virtual_network_network_id"):
            yield Number(POOL, change.uuid, field="virtual_network_network_id")

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.after
        assert after is not None
        instance: Document = {
            "fq_name": [*after["fq_name"], after["fq_name"][-1]],
            "parent_type": "virtual-network",
            "parent_uuid": change.uuid,
            "routing_instance_is_default": True,
        }
        if after.get("fabric_snat"):
            instance["routing_instance_fabric_snat"] = True
        yield "routing_instance", instance

    def companions_gone(self, change: Change) -> Iterable[Name]:
        before = change.before
        assert before is not None
        yield Name("routing_instance", (*before["fq_name"], before["fq_name"][-1]))


def _vxlan(document: Document | None) -> int:
    """The VXLAN identifier; 0 if it is unset, or if it has another type, which is reported elsewhere."""
    properties = (document or {}).get("virtual_network_properties")
    number = properties.get("vxlan_network_identifier") if isinstance(properties, dict) else 0
    return number if isinstance(number, int) else 0


def _vxlan_owner(document: Document) -> str:
    return f"{':'.join(document['fq_name'])}_vxlan"


def _check_users_targets(network: Document) -> None:
    if not network.get("multi_policy_service_chains_enabled"):
        return
    both, imported, exported = (
        set((network.get(field) or {}).get("route_target") or ()) for field in users_targets.LISTS["virtual_network"]
    )
    if both:
        raise BadRequest(
            "route_target_list must be empty while multi_policy_service_chains_enabled is true; use the import and "
            "export lists"
        )
    if imported & exported:
        raise BadRequest(
            f"{', '.join(sorted(imported & exported))} stands in the import and in the export list, which "
            f"multi_policy_service_chains_enabled forbids"
        )
