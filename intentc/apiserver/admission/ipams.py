"""Completes and checks IPAMs (docs/contrail.md B.7, B.8), and finds what name servers name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from itertools import count
from typing import ClassVar

from intentc.model.names import Key, Name

from ..documents import Document
from ..errors import BadRequest
from ..rule_reader import Reader
from ..sources import Source
from .rules import AddressAction, Change, Rules, named, subnet_changes
from .subnets import FLAT, check_overlaps, completed, flat_subnets, own_subnets

_SUBNETS = "ipam_subnets"


class NetworkIpamRules(Rules):
    """The subnets of a flat IPAM are shared by the networks that refer to it. They stay while addresses are used. The
    name server of an IPAM learns the names of its machines."""

    kind: ClassVar[str] = "network_ipam"
    allocates: ClassVar[bool] = True

    def joined(self, document: Document) -> Iterable[Name]:
        server = (document.get("network_ipam_mgmt") or {}).get("ipam_dns_server") or {}
        return named("virtual_DNS", server.get("virtual_dns_server_name"))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.before is not None:
            for field in ("ipam_subnet_method", "ipam_subnetting"):
                if change.changes(field):
                    raise BadRequest(f"{field} can't change; delete the IPAM and create another")
        if after.get("ipam_subnet_method") != FLAT:
            for field in (_SUBNETS, "ipam_subnetting"):
                if change.changes(field) and after.get(field):
                    raise BadRequest(f"{field} is for ipam_subnet_method {FLAT} only; set that, or leave it out")
            return
        if _SUBNETS not in change.given or not after.get(_SUBNETS):
            return
        name = Name(self.kind, tuple(after["fq_name"]))
        before = ((change.before or {}).get(_SUBNETS) or {}).get("subnets") or ()
        fresh = (uuids.uuid(name, f"subnet {place}") for place in count())
        entries = completed(after[_SUBNETS].get("subnets") or (), before, _SUBNETS, fresh)
        after[_SUBNETS] = {**after[_SUBNETS], "subnets": entries}
        own = flat_subnets(after)
        check_overlaps(own, _SUBNETS)
        if change.before is None:
            return
        networks = await reader.referrers([Key(self.kind, change.uuid)], "virtual_network")
        ipams = await reader.following(networks, self.kind)
        for network in networks:
            referred = {reference["uuid"] for reference in network.get("network_ipam_refs") or ()} - {change.uuid}
            others = [ipam for ipam in ipams if ipam["uuid"] in referred]
            check_overlaps(
                [*own, *own_subnets(network), *(one for ipam in others for one in flat_subnets(ipam))], _SUBNETS
            )

    async def addresses(self, change: Change, reader: Reader) -> AsyncIterator[AddressAction]:
        before, after = flat_subnets(change.before or {}), flat_subnets(change.after or {})
        for action in subnet_changes(before, after, _SUBNETS, forced=change.after is None):
            yield action


class VirtualDnsRules(Rules):
    """A name server may name another one, which answers what it does not know."""

    kind: ClassVar[str] = "virtual_DNS"

    def joined(self, document: Document) -> Iterable[Name]:
        return named("virtual_DNS", (document.get("virtual_DNS_data") or {}).get("next_virtual_DNS"))


class VirtualDnsRecordRules(Rules):
    """A record of the type NS may name another name server, to which it delegates a domain."""

    kind: ClassVar[str] = "virtual_DNS_record"

    def joined(self, document: Document) -> Iterable[Name]:
        record = document.get("virtual_DNS_record_data") or {}
        return named("virtual_DNS", record.get("record_data") if record.get("record_type") == "NS" else None)
