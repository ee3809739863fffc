"""Completes and checks ports, instance IPs, floating IPs and alias IPs (docs/contrail.md B.5.8, B.8).

An instance IP takes its address from the subnets of its network, or from a flat IPAM or a virtual router to which it
refers; a floating IP and an alias IP from the network of their pool. The address can't change; it is freed with the
resource, or when the resource no longer refers to where it came from. ``subnets`` knows which addresses are free.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest
from ..sources import Source
from .rules import (
    Address,
    AddressAction,
    ByName,
    ByUuid,
    Change,
    Following,
    Found,
    Lookup,
    Release,
    Rules,
    mirrored_to,
)
from .subnets import Subnet, flat_subnets, known_address, parse_address, subnets_of, subnets_of_router

_MAC_FIELD = "virtual_machine_interface_mac_addresses"


class VirtualMachineInterfaceRules(Rules):
    """The rules of ports.

    A port has at least one network. Without a MAC address it gets one derived from its uuid. A new port, and one that
    moves to another network, gets a reference to that network's primary routing instance. The network of a port that is
    mirrored is linked with its analyzer's (docs/contrail.md D.8.7).
    """

    kind: ClassVar[str] = "virtual_machine_interface"

    def joined(self, document: Document) -> Iterable[Name]:
        return mirrored_to((document.get("virtual_machine_interface_properties") or {}).get("interface_mirror"))

    def lookups(self, change: Change) -> Iterable[Lookup]:
        before = {instance.fq_name for instance in _primary_instances(change.before or {})}
        return [instance for instance in _primary_instances(change.after or {}) if instance.fq_name not in before]

    def admit(self, change: Change, found: Found, uuids: Source) -> None:
        after = change.new
        if not after.get("virtual_network_refs"):
            raise BadRequest("a virtual machine interface needs a network; give virtual_network_refs")
        if not (after.get(_MAC_FIELD) or {}).get("mac_address"):
            after[_MAC_FIELD] = {"mac_address": [_mac_address(change.uuid)]}
        references: list[Document] = list(after.get("routing_instance_refs") or ())
        if change.before is not None and "routing_instance_refs" not in change.given:
            left = {i.fq_name for i in _primary_instances(change.before)} - {
                i.fq_name for i in _primary_instances(after)
            }
            references = [reference for reference in references if tuple(reference["to"]) not in left]
        held = {reference["uuid"] for reference in references}
        for lookup in self.lookups(change):
            for instance in found[lookup]:
                if instance["uuid"] not in held:
                    references.append(
                        {"uuid": instance["uuid"], "to": instance["fq_name"], "attr": {"direction": "both"}}
                    )
        if references:
            after["routing_instance_refs"] = references
        else:
            after.pop("routing_instance_refs", None)


def _primary_instances(document: Document) -> list[ByName]:
    return [
        ByName("routing_instance", (*network["to"], network["to"][-1]))
        for network in document.get("virtual_network_refs") or ()
    ]


def _mac_address(uuid: str) -> str:
    return f"02:{uuid[0:2]}:{uuid[2:4]}:{uuid[4:6]}:{uuid[6:8]}:{uuid[9:11]}"


_PROJECT = ("default-domain", "default-project")
_NOT_MANAGED = frozenset({(*_PROJECT, "ip-fabric"), (*_PROJECT, "__link_local__")})
"""Networks whose addresses belong to hosts: the server gives none out."""
_ROUTER = "virtual_router"
_VERSIONS = {"v4": 4, "v6": 6}


class _AddressRules(Rules):
    """``field``: has the address; ``family_field``: ``v4`` or ``v6``."""

    takes_numbers: ClassVar[bool] = True
    field: ClassVar[str]
    family_field: ClassVar[str]

    def source(self, document: Document | None) -> ByName | None:
        """The source of a resource's address; None if the server gives none out."""
        raise NotImplementedError

    def request(self, change: Change, after: Document, subnets: list[Subnet], found: Found) -> Address:
        """The request for an address from ``subnets``, which are not empty."""
        return Address(change.uuid, tuple(subnets), self.field, self._address_of(after))

    def admit(self, change: Change, found: Found, uuids: Source) -> None:
        after = change.new
        given, family = self._address_of(after), after.get(self.family_field)
        if given and (change.changes(self.field) or change.changes(self.family_field)):
            address = parse_address(given, self.field)
            if family and _VERSIONS[family] != address.version:
                raise BadRequest(
                    f"{self.field}: {address} is no {family} address as {self.family_field} says; give another"
                )
        before, old, now = self.source(change.before), self._address_of(change.before), self.source(after)
        if old and before is not None and change.changes(self.field):
            if known_address(given) is None or known_address(given) != known_address(old):
                raise BadRequest(
                    f"{self.field} can't change from {old} to {given or 'none'}; delete the resource and create another"
                )
            after[self.field] = old
        if before is not None and now is None and self.field not in change.given:
            # It is given back: another resource may get it.
            after.pop(self.field, None)
        if before is not None and now is not None and before != now:
            raise BadRequest(
                f"{now.kind}_refs: the address {old} comes from {':'.join(before.fq_name)} and can't move to "
                f"{':'.join(now.fq_name)}; delete the resource and create another"
            )

    def address_lookups(self, change: Change) -> Iterable[Lookup]:
        for document in (change.before, change.after):
            source = self.source(document)
            if source is not None:
                yield from _lookups_of(source)

    def addresses(self, change: Change, found: Found) -> Iterable[AddressAction]:
        before, after = self.source(change.before), self.source(change.after)
        if before is not None and after is None:
            address = known_address(self._address_of(change.before))
            for subnet in _subnets(before, found):
                if address is None or address in subnet.network:
                    yield Release(subnet.pool, change.uuid)
        if change.after is not None and after is not None and (before is None or not self._address_of(change.after)):
            yield self._request(change, change.after, after, found)

    def _request(self, change: Change, after: Document, source: ByName, found: Found) -> Address:
        subnets, given, family = _subnets(source, found), self._address_of(after), after.get(self.family_field)
        shown, name = ", ".join(map(str, subnets)) or "none", ":".join(source.fq_name)
        if given:
            address = parse_address(given, self.field)
            subnets = [subnet for subnet in subnets if address in subnet.network]
            if not subnets:
                raise BadRequest(
                    f"{self.field}: {given} lies outside of the subnets of {name} ({shown}); choose another address, "
                    f"or add a subnet"
                )
            subnets[0].request(address, self.field)
        elif family:
            subnets = [subnet for subnet in subnets if subnet.network.version == _VERSIONS[family]]
        else:
            subnets = [subnet for subnet in subnets if subnet.network.version == 4] or subnets
        if not subnets:
            missing = f"{family} subnet" if family else "subnet"
            raise BadRequest(
                f"{self.field}: {source.kind} {name} has no {missing} ({shown}) from which to give an address; add one"
            )
        return self.request(change, after, subnets, found)

    def _address_of(self, document: Document | None) -> str:
        return (document or {}).get(self.field) or ""


class InstanceIpRules(_AddressRules):
    """The address of a port.

    The gateway of a subnet is given on request, and only to ports without a machine."""

    kind: ClassVar[str] = "instance_ip"
    field: ClassVar[str] = "instance_ip_address"
    family_field: ClassVar[str] = "instance_ip_family"

    def source(self, document: Document | None) -> ByName | None:
        document = document or {}
        for relation in ("virtual_network", "network_ipam", _ROUTER):
            for reference in document.get(f"{relation}_refs") or ():
                name = tuple(reference["to"])
                return None if name in _NOT_MANAGED else ByName(relation, name, True)
        return None

    def lookups(self, change: Change) -> Iterable[Lookup]:
        for port in (change.after or {}).get("virtual_machine_interface_refs") or ():
            yield ByUuid("virtual_machine_interface", port["uuid"])

    def admit(self, change: Change, found: Found, uuids: Source) -> None:
        after = change.new
        if after.get("virtual_router_refs") and (after.get("virtual_network_refs") or after.get("network_ipam_refs")):
            raise BadRequest(
                "virtual_router_refs: an instance IP of a virtual router can't refer to a network or an IPAM as well; "
                "leave one of them out"
            )
        if len(after.get("virtual_router_refs") or ()) > 1:
            raise BadRequest("virtual_router_refs: an instance IP has one virtual router; leave the others out")
        super().admit(change, found, uuids)

    def address_lookups(self, change: Change) -> Iterable[Lookup]:
        yield from super().address_lookups(change)
        yield from self.lookups(change)

    def addresses(self, change: Change, found: Found) -> Iterable[AddressAction]:
        yield from super().addresses(change, found)
        source, address = self.source(change.after), known_address(self._address_of(change.after))
        if source is None or address is None or not any(port.get("virtual_machine_refs") for port in _ports(found)):
            return
        if any(subnet.gateway == address for subnet in _subnets(source, found)):
            raise BadRequest(
                f"{self.field}: {address} is the gateway of its subnet, and a port of a machine can't have it; choose "
                f"another address"
            )

    def request(self, change: Change, after: Document, subnets: list[Subnet], found: Found) -> Address:
        wanted = after.get("subnet_uuid")
        if wanted:
            subnets = _chosen(subnets, [wanted], "subnet_uuid")
        return Address(
            change.uuid,
            tuple(subnets),
            self.field,
            self._address_of(after),
            uuid_field="subnet_uuid",
            subnet_field="instance_ip_subnet",
        )


class FloatingIpRules(_AddressRules):
    """An address from the network of the pool, or from those of its subnets that the pool names."""

    kind: ClassVar[str] = "floating_ip"
    field: ClassVar[str] = "floating_ip_address"
    family_field: ClassVar[str] = "floating_ip_address_family"

    def source(self, document: Document | None) -> ByName | None:
        if document is None or document.get("parent_type") != "floating-ip-pool":
            return None
        return _of_pool(document)

    def address_lookups(self, change: Change) -> Iterable[Lookup]:
        yield from super().address_lookups(change)
        if change.after is not None:
            yield _pool_of(change.after)

    def request(self, change: Change, after: Document, subnets: list[Subnet], found: Found) -> Address:
        for pool in found[_pool_of(after)]:
            named = (pool.get("floating_ip_pool_subnets") or {}).get("subnet_uuid")
            if named:
                subnets = _chosen(subnets, named, f"floating_ip_pool_subnets of {':'.join(pool['fq_name'])}")
        return super().request(change, after, subnets, found)


class AliasIpRules(_AddressRules):
    """An address from the network of the pool."""

    kind: ClassVar[str] = "alias_ip"
    field: ClassVar[str] = "alias_ip_address"
    family_field: ClassVar[str] = "alias_ip_address_family"

    def source(self, document: Document | None) -> ByName | None:
        return None if document is None else _of_pool(document)


def _of_pool(document: Document) -> ByName | None:
    """The network above the pool above a floating or alias IP."""
    name = tuple(document["fq_name"][:-2])
    return None if name in _NOT_MANAGED else ByName("virtual_network", name, True)


def _pool_of(document: Document) -> ByName:
    return ByName("floating_ip_pool", tuple(document["fq_name"][:-1]), True)


def _lookups_of(source: ByName) -> tuple[Lookup, ...]:
    return (source,) if source.kind == "network_ipam" else (source, Following(source, ("network_ipam",)))


def _subnets(source: ByName, found: Found) -> list[Subnet]:
    holders = found.get(source, ())
    if source.kind == "network_ipam":
        return [subnet for ipam in holders for subnet in flat_subnets(ipam)]
    ipams = found.get(Following(source, ("network_ipam",)), ())
    if source.kind == _ROUTER:
        return [subnet for router in holders for subnet in subnets_of_router(router, ipams)]
    return [subnet for network in holders for subnet in subnets_of(network, ipams)]


def _ports(found: Found) -> Iterable[Document]:
    return (
        document
        for lookup, documents in found.items()
        if isinstance(lookup, ByUuid) and lookup.kind == "virtual_machine_interface"
        for document in documents
    )


def _chosen(subnets: list[Subnet], uuids: Any, where: str) -> list[Subnet]:
    """Those of ``subnets`` that ``uuids`` name, in the order of ``uuids``. Raises ``BadRequest`` if it is none."""
    by_uuid: dict[str, list[Subnet]] = {}
    for subnet in subnets:
        by_uuid.setdefault(subnet.uuid, []).append(subnet)
    chosen = [subnet for uuid in uuids for subnet in by_uuid.get(uuid, ())]
    if not chosen:
        shown = ", ".join(f"{subnet} ({subnet.uuid})" for subnet in subnets) or "none"
        raise BadRequest(
            f"{where}: {', '.join(map(str, uuids))} names no subnet that has such an address; choose one of {shown}"
        )
    return chosen
