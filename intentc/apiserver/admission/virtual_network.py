"""Completes and checks networks and bridge domains (docs/contrail.md B.5.7, B.7, B.8).

A network has numbers, a primary routing instance, connections, route targets, BGP VPNs and subnets; ``subnets``,
``route_targets`` and ``bgp`` have the rules that other kinds share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from itertools import count
from typing import ClassVar

from intentc.model.names import Key, Name

from ..documents import Document
from ..errors import BadRequest, Conflict, Forbidden
from ..rule_reader import Reader
from ..sources import Source
from . import bgp, route_targets
from .rules import AddressAction, Allocation, Change, Release, Rules, subnet_changes
from .subnets import check_overlaps, completed, entries_of, flat_subnets, own_subnets

POOL = "virtual_network_id"
IPAM = "network_ipam"
_IPAM_REFS = "network_ipam_refs"


class VirtualNetworkRules(Rules):
    """The rules of networks.

    A network gets a number, and an explicit VXLAN id is reserved among the same numbers. Its primary routing instance
    is created and deleted with it, and an update creates a missing one. References connect a provider network with
    other networks only, never two of the same sort. Its lists must not name a route target that the compiler
    allocates. Its subnets are completed, and stay while their addresses are used.
    """

    kind: ClassVar[str] = "virtual_network"
    allocates: ClassVar[bool] = True
    restores_companions: ClassVar[bool] = True

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.changes("virtual_network_network_id") and not change.privileged:
            raise Forbidden("virtual_network_network_id is given by the server; leave it out")
        _check_provider_properties(change)
        if _joins(change):
            _check_provider(change, after, await self._joined(change, reader))
        _check_users_targets(after)
        if _IPAM_REFS in change.given and after.get(_IPAM_REFS):
            after[_IPAM_REFS] = _completed(change, after, uuids)
            ipams = [await reader.by_uuid(IPAM, reference["uuid"]) or {} for reference in after[_IPAM_REFS]]
            check_overlaps([*own_subnets(after), *(one for ipam in ipams for one in flat_subnets(ipam))], _IPAM_REFS)

    async def verify(self, change: Change, reader: Reader) -> None:
        await route_targets.check_lists(self.kind, change, reader)
        await bgp.check_network(change, reader)

    async def addresses(self, change: Change, reader: Reader) -> AsyncIterator[AddressAction]:
        before, after = own_subnets(change.before or {}), own_subnets(change.after or {})
        for action in subnet_changes(before, after, _IPAM_REFS, forced=change.after is None):
            yield action
        for reference in _left_ipams(change):
            ipam = await reader.by_uuid(IPAM, reference["uuid"])
            instance_ips = await reader.referrers([Key(self.kind, change.uuid)], "instance_ip")
            _check_unused(ipam or {}, instance_ips)

    async def _joined(self, change: Change, reader: Reader) -> list[Document]:
        """The networks that a change may connect with this one."""
        references = change.new.get("virtual_network_refs") or ()
        found = [await reader.by_uuid(self.kind, reference["uuid"]) for reference in references]
        if change.before is not None:
            found += await reader.referrers([Key(self.kind, change.uuid)], self.kind)
        return [network for network in found if network is not None]

    def allocations(self, change: Change) -> Iterable[Allocation | Release]:
        owner = _vxlan_owner(change.after or change.before or {})
        had, has = _vxlan(change.before), _vxlan(change.after)
        if had and had != has:
            yield Release(POOL, owner)
        if has and had != has:
            yield Allocation(POOL, owner, value=has)
        if change.after is None:
            yield Release(POOL, change.uuid)
        elif not change.after.get("virtual_network_network_id"):
            yield Allocation(POOL, change.uuid, field="virtual_network_network_id")

    def companions(self, change: Change) -> Iterable[tuple[str, Document]]:
        after = change.new
        instance: Document = {
            "fq_name": [*after["fq_name"], after["fq_name"][-1]],
            "parent_type": "virtual-network",
            "parent_uuid": change.uuid,
            "routing_instance_is_default": True,
        }
        if after.get("fabric_snat"):
            instance["routing_instance_fabric_snat"] = True
        yield "routing_instance", instance

    def companions_changed(self, change: Change) -> Iterable[tuple[Name, Document]]:
        if change.changes("fabric_snat"):
            copied = {"routing_instance_fabric_snat": bool(change.new.get("fabric_snat"))}
            yield _primary_instance(change.new), copied

    def deleted_companions(self, change: Change) -> Iterable[Name]:
        yield _primary_instance(change.old)


class BridgeDomainRules(Rules):
    """A network has one bridge domain at most."""

    kind: ClassVar[str] = "bridge_domain"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.before is not None:
            return
        for other in await reader.children(change.new.get("parent_uuid", ""), self.kind):
            raise BadRequest(
                f"a network has one bridge domain at most, and {':'.join(other['fq_name'])} is there already; update "
                f"it, or delete it first"
            )


def _primary_instance(network: Document) -> Name:
    return Name("routing_instance", (*network["fq_name"], network["fq_name"][-1]))


def _joins(change: Change) -> bool:
    """Whether a change may connect two networks anew."""
    return "virtual_network_refs" in change.given or change.changes("is_provider_network")


def _check_provider(change: Change, network: Document, others: Iterable[Document]) -> None:
    """Check the connections of a provider network, or of one that isn't. ``others``: those that it is connected to."""
    provider = bool(network.get("is_provider_network"))
    if (change.before or {}).get("is_provider_network") and not provider:
        raise BadRequest("is_provider_network can't be set back to false; delete the network and create another")
    if not provider and len(network.get("virtual_network_refs") or ()) > 1:
        raise BadRequest(
            "virtual_network_refs: a network that is no provider network refers to one provider network only; leave "
            "the others out"
        )
    for other in others:
        if bool(other.get("is_provider_network")) == provider:
            kind = "a network that is none" if provider else "a provider network"
            raise BadRequest(
                f"virtual_network_refs: {':'.join(other['fq_name'])} can't be joined; this network may be connected to "
                f"{kind} only"
            )


def _check_provider_properties(change: Change) -> None:
    field = "provider_properties"
    if not change.changes(field):
        return
    given = change.value(change.after, field) or {}
    missing = [name for name in ("segmentation_id", "physical_network") if given and not given.get(name)]
    if missing:
        raise BadRequest(f"{field}.{missing[0]} is missing; give both segmentation_id and physical_network")
    if change.before is not None and change.before.get("is_provider_network"):
        raise BadRequest(f"{field} can't change while the network is a provider network; delete it and create another")


def _completed(change: Change, after: Document, uuids: Source) -> list[Document]:
    """The references to IPAMs with completed subnets."""
    name = Name("virtual_network", tuple(after["fq_name"]))
    fresh = (uuids.uuid(name, f"subnet {place}") for place in count())
    before = {reference["uuid"]: entries_of(reference) for reference in (change.before or {}).get(_IPAM_REFS) or ()}
    result = []
    for reference in after[_IPAM_REFS]:
        entries = (reference.get("attr") or {}).get("ipam_subnets")
        if entries:
            known = before.get(reference["uuid"], ())
            attribute = {**reference["attr"], "ipam_subnets": completed(entries, known, _IPAM_REFS, fresh)}
            reference = {**reference, "attr": attribute}
        result.append(reference)
    return result


def _left_ipams(change: Change) -> list[Document]:
    """The references to IPAMs that a change of a network removes."""
    if change.before is None or change.after is None:
        return []
    kept = {reference["uuid"] for reference in change.after.get(_IPAM_REFS) or ()}
    return [reference for reference in change.before.get(_IPAM_REFS) or () if reference["uuid"] not in kept]


def _check_unused(ipam: Document, instance_ips: Iterable[Document]) -> None:
    """Raise ``Conflict`` if an instance IP of the network has an address of a flat IPAM that the network leaves."""
    for instance_ip in instance_ips:
        for subnet in flat_subnets(ipam):
            if subnet.uuid and subnet.uuid == instance_ip.get("subnet_uuid"):
                raise Conflict(
                    f"{_IPAM_REFS}: {':'.join(ipam['fq_name'])} can't be removed while the instance IP "
                    f"{':'.join(instance_ip['fq_name'])} has an address of its subnet {subnet}; delete that first"
                )


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
        set((network.get(field) or {}).get("route_target") or ()) for field in route_targets.LISTS["virtual_network"]
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
