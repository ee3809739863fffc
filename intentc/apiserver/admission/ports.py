"""Completes and checks ports, instance IPs, floating IPs and alias IPs (docs/contrail.md B.5.8, B.8).

An instance IP takes its address from the subnets of its network, or from a flat IPAM or a virtual router to which it
refers; a floating IP and an alias IP from the network of their pool. The address can't change; it is freed with the
resource, or when the resource no longer refers to where it came from. ``subnets`` knows which addresses are free.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, ClassVar

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest
from ..rule_reader import Reader
from ..sources import Source
from .rules import Address, AddressAction, Change, Release, Rules, mirrored_to
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

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if not after.get("virtual_network_refs"):
            raise BadRequest("a virtual machine interface needs a network; give virtual_network_refs")
        if not (after.get(_MAC_FIELD) or {}).get("mac_address"):
            after[_MAC_FIELD] = {"mac_address": [_mac_address(change.uuid)]}
        references: list[Document] = list(after.get("routing_instance_refs") or ())
        former, present = _primary_instances(change.before or {}), _primary_instances(after)
        if change.before is not None and "routing_instance_refs" not in change.given:
            left = {name.fq_name for name in former if name not in present}
            references = [reference for reference in references if tuple(reference["to"]) not in left]
        held = {reference["uuid"] for reference in references}
        for name in present:
            instance = await reader.by_name(name) if name not in former else None
            if instance is not None and instance["uuid"] not in held:
                references.append({"uuid": instance["uuid"], "to": instance["fq_name"], "attr": {"direction": "both"}})
        if references:
            after["routing_instance_refs"] = references
        else:
            after.pop("routing_instance_refs", None)


def _primary_instances(document: Document) -> dict[Name, None]:
    networks = document.get("virtual_network_refs") or ()
    return {Name("routing_instance", (*network["to"], network["to"][-1])): None for network in networks}


def _mac_address(uuid: str) -> str:
    return f"02:{uuid[0:2]}:{uuid[2:4]}:{uuid[4:6]}:{uuid[6:8]}:{uuid[9:11]}"


_PROJECT = ("default-domain", "default-project")
_NOT_MANAGED = frozenset({(*_PROJECT, "ip-fabric"), (*_PROJECT, "__link_local__")})
"""Networks whose addresses belong to hosts: the server gives none out."""
_ROUTER = "virtual_router"
_VERSIONS = {"v4": 4, "v6": 6}


class _AddressRules(Rules):
    """``field``: has the address; ``family_field``: ``v4`` or ``v6``."""

    allocates: ClassVar[bool] = True
    field: ClassVar[str]
    family_field: ClassVar[str]

    def source(self, document: Document | None) -> Name | None:
        """The source of a resource's address; None if the server gives none out."""
        raise NotImplementedError

    async def request(self, change: Change, after: Document, subnets: list[Subnet], reader: Reader) -> Address:
        """The request for an address from ``subnets``, which are not empty."""
        return Address(change.uuid, tuple(subnets), self.field, self._address_of(after))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
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

    async def addresses(self, change: Change, reader: Reader) -> AsyncIterator[AddressAction]:
        before, after = self.source(change.before), self.source(change.after)
        if before is not None and after is None:
            address = known_address(self._address_of(change.before))
            for subnet in await _subnets(before, reader):
                if address is None or address in subnet.network:
                    yield Release(subnet.pool, change.uuid)
        if change.after is not None and after is not None and (before is None or not self._address_of(change.after)):
            yield await self._request(change, change.after, after, reader)

    async def _request(self, change: Change, after: Document, source: Name, reader: Reader) -> Address:
        subnets, given, family = await _subnets(source, reader), self._address_of(after), after.get(self.family_field)
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
        return await self.request(change, after, subnets, reader)

    def _address_of(self, document: Document | None) -> str:
        return (document or {}).get(self.field) or ""


class InstanceIpRules(_AddressRules):
    """The address of a port.

    The gateway of a subnet is given on request, and only to ports without a machine."""

    kind: ClassVar[str] = "instance_ip"
    field: ClassVar[str] = "instance_ip_address"
    family_field: ClassVar[str] = "instance_ip_family"

    def source(self, document: Document | None) -> Name | None:
        document = document or {}
        for relation in ("virtual_network", "network_ipam", _ROUTER):
            for reference in document.get(f"{relation}_refs") or ():
                name = tuple(reference["to"])
                return None if name in _NOT_MANAGED else Name(relation, name)
        return None

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if after.get("virtual_router_refs") and (after.get("virtual_network_refs") or after.get("network_ipam_refs")):
            raise BadRequest(
                "virtual_router_refs: an instance IP of a virtual router can't refer to a network or an IPAM as well; "
                "leave one of them out"
            )
        if len(after.get("virtual_router_refs") or ()) > 1:
            raise BadRequest("virtual_router_refs: an instance IP has one virtual router; leave the others out")
        await super().admit(change, reader, uuids)

    async def addresses(self, change: Change, reader: Reader) -> AsyncIterator[AddressAction]:
        async for action in super().addresses(change, reader):
            yield action
        source, address = self.source(change.after), known_address(self._address_of(change.after))
        if source is None or address is None:
            return
        references = change.new.get("virtual_machine_interface_refs") or ()
        ports = [await reader.by_uuid("virtual_machine_interface", reference["uuid"]) for reference in references]
        if not any((port or {}).get("virtual_machine_refs") for port in ports):
            return
        if any(subnet.gateway == address for subnet in await _subnets(source, reader)):
            raise BadRequest(
                f"{self.field}: {address} is the gateway of its subnet, and a port of a machine can't have it; choose "
                f"another address"
            )

    async def request(self, change: Change, after: Document, subnets: list[Subnet], reader: Reader) -> Address:
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

    def source(self, document: Document | None) -> Name | None:
        if document is None or document.get("parent_type") != "floating-ip-pool":
            return None
        return _of_pool(document)

    async def request(self, change: Change, after: Document, subnets: list[Subnet], reader: Reader) -> Address:
        name = Name("floating_ip_pool", tuple(after["fq_name"][:-1]))
        pool = await reader.by_name(name, is_guarded=True) or {}
        named = (pool.get("floating_ip_pool_subnets") or {}).get("subnet_uuid")
        if named:
            subnets = _chosen(subnets, named, f"floating_ip_pool_subnets of {':'.join(name.fq_name)}")
        return await super().request(change, after, subnets, reader)


class AliasIpRules(_AddressRules):
    """An address from the network of the pool."""

    kind: ClassVar[str] = "alias_ip"
    field: ClassVar[str] = "alias_ip_address"
    family_field: ClassVar[str] = "alias_ip_address_family"

    def source(self, document: Document | None) -> Name | None:
        return None if document is None else _of_pool(document)


def _of_pool(document: Document) -> Name | None:
    """The network above the pool above a floating or alias IP."""
    name = tuple(document["fq_name"][:-2])
    return None if name in _NOT_MANAGED else Name("virtual_network", name)


async def _subnets(source: Name, reader: Reader) -> list[Subnet]:
    holder = await reader.by_name(source, is_guarded=True) or {}
    if source.kind == "network_ipam":
        return flat_subnets(holder)
    ipams = await reader.following([holder], "network_ipam")
    return subnets_of_router(holder, ipams) if source.kind == _ROUTER else subnets_of(holder, ipams)


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
