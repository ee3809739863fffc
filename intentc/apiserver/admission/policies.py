"""Completes and checks network policies, security groups and firewall rules (docs/contrail.md B.5.9, B.7)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import msgspec

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest, Conflict, Forbidden
from ..integers import parse_integer
from ..rule_reader import Reader
from ..sources import Source
from .rules import Allocation, Change, Release, Rules, named, named_by_action

_POLICY = "network_policy_entries"
_NOT_COMPARED = frozenset({"rule_uuid", "created", "last_modified"})


def rules_of(document: Document, field: str) -> list[Document]:
    """The rules of ``<field>.policy_rule``; raises ``BadRequest`` if they aren't a list of objects."""
    rules = (document.get(field) or {}).get("policy_rule") or []
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise BadRequest(f"{field}.policy_rule must be a list of objects")
    return rules


def addresses(rule: Document) -> Iterator[Document]:
    """Source and destination addresses of a rule."""
    for side in ("src_addresses", "dst_addresses"):
        yield from rule.get(side) or ()


def subnets(address: Document) -> Iterator[Document]:
    """The subnets of an address."""
    if address.get("subnet"):
        yield address["subnet"]
    yield from address.get("subnet_list") or ()


def fill_rule_uuids(document: Document, field: str, name: Name, uuids: Source) -> None:
    """Give each rule without ``rule_uuid`` one. Rules are replaced, never changed: they may belong to the client."""
    rules = rules_of(document, field)
    if all(rule.get("rule_uuid") for rule in rules):
        return
    completed = [
        rule if rule.get("rule_uuid") else {**rule, "rule_uuid": uuids.uuid(name, f"rule {place}")}
        for place, rule in enumerate(rules)
    ]
    document[field] = {**document[field], "policy_rule": completed}


def reject_duplicates(rules: list[Document], field: str) -> None:
    """Raise ``Conflict`` if two rules differ only in uuid and times."""
    seen: dict[bytes, int] = {}
    for place, rule in enumerate(rules):
        content = {name: value for name, value in rule.items() if name not in _NOT_COMPARED}
        other = seen.setdefault(msgspec.json.encode(content, order="sorted"), place)
        if other != place:
            raise Conflict(f"{field}.policy_rule[{place}] says the same as rule {other}; leave one of them out")


def check_family(subnet: Document, ethertype: Any, where: str) -> None:
    """Raise ``BadRequest`` if a subnet is invalid, or of another family than ``ethertype`` (IPv4, IPv6)."""
    prefix, length = subnet.get("ip_prefix", ""), subnet.get("ip_prefix_len", 0)
    try:
        network = ipaddress.ip_network(f"{prefix}/{length}", strict=False)
    except ValueError as error:
        raise BadRequest(f"{where}: {prefix}/{length} is no subnet: {error}") from None
    if ethertype and ethertype != f"IPv{network.version}":
        raise BadRequest(f"{where}: subnet {network} does not fit ethertype {ethertype}")


class NetworkPolicyRules(Rules):
    """Every rule has an action, none names a security group, and no two are equal. Networks that attach a policy are
    linked with those of its analyzers (docs/contrail.md D.8.7), ports of its services lead to them (D.8.5), and another
    policy stands for the networks that attach it (D.4.3)."""

    kind: ClassVar[str] = "network_policy"

    def joined(self, document: Document) -> Iterator[Name]:
        for rule in rules_of(document, _POLICY):
            yield from named_by_action(rule.get("action_list"))
            yield from named("network_policy", *(address.get("network_policy") for address in addresses(rule)))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        rules = rules_of(after, _POLICY)
        if _POLICY in change.given:
            for place, rule in enumerate(rules):
                where = f"{_POLICY}.policy_rule[{place}]"
                if not rule.get("action_list"):
                    raise BadRequest(f"{where}: action_list is missing; give for example simple_action: pass")
                if any(address.get("security_group") for address in addresses(rule)):
                    raise BadRequest(f"{where}: a policy can't name security groups; name networks or subnets")
            reject_duplicates(rules, _POLICY)
        fill_rule_uuids(after, _POLICY, Name(self.kind, tuple(after["fq_name"])), uuids)


POOL = "security_group_id"
OFFSET = 8_000_000
_GROUP = "security_group_entries"
_PROTOCOLS = frozenset({"any", "icmp", "tcp", "udp", "icmp6"})


class SecurityGroupRules(Rules):
    """The rules of security groups. The number is the configured id, or 8000000 + n with n from the pool."""

    kind: ClassVar[str] = "security_group"
    allocates: ClassVar[bool] = True

    def joined(self, document: Document) -> Iterable[Name]:
        for rule in rules_of(document, _GROUP):
            yield from named_by_action(rule.get("action_list"))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        after = change.new
        if change.changes("security_group_id") and not change.privileged:
            raise Forbidden(
                "security_group_id is given by the server; set configured_security_group_id to choose the number"
            )
        rules = rules_of(after, _GROUP)
        if _GROUP in change.given:
            for place, rule in enumerate(rules):
                _check_rule(rule, f"{_GROUP}.policy_rule[{place}]")
            reject_duplicates(rules, _GROUP)
        fill_rule_uuids(after, _GROUP, Name(self.kind, tuple(after["fq_name"])), uuids)
        configured = after.get("configured_security_group_id") or 0
        if configured > 0:
            after["security_group_id"] = configured

    def allocations(self, change: Change) -> Iterable[Allocation | Release]:
        if change.after is None:
            return (Release(POOL, change.uuid),)
        had, has = _is_configured(change.before), _is_configured(change.after)
        if has:
            return (Release(POOL, change.uuid),) if change.before is not None and not had else ()
        # A seed brings its number along; a group that loses its configured one still shows that.
        if had or not change.after.get("security_group_id"):
            return (Allocation(POOL, change.uuid, field="security_group_id", offset=OFFSET),)
        return ()


def _is_configured(document: Document | None) -> bool:
    return ((document or {}).get("configured_security_group_id") or 0) > 0


def _check_rule(rule: Document, where: str) -> None:
    for field in ("src_addresses", "dst_addresses"):
        sides = rule.get(field) or []
        if not isinstance(sides, list) or not all(isinstance(address, dict) for address in sides):
            raise BadRequest(f"{where}.{field} must be a list of objects")
    if not any(address.get("security_group") == "local" for address in addresses(rule)):
        raise BadRequest(
            f"{where}: neither side is local; set security_group to 'local' in src_addresses (for egress) or in "
            f"dst_addresses (for ingress)"
        )
    protocol = rule.get("protocol") or ""
    if protocol and protocol not in _PROTOCOLS and not _is_protocol_number(protocol):
        raise BadRequest(
            f"{where}: protocol {protocol!r} is unknown; give one of {', '.join(sorted(_PROTOCOLS))}, or 0 to 255"
        )
    for address in addresses(rule):
        for subnet in subnets(address):
            check_family(subnet, rule.get("ethertype"), where)


def _is_protocol_number(protocol: object) -> bool:
    number = parse_integer(protocol) if isinstance(protocol, str) else None
    return number is not None and number <= 255


class FirewallRuleRules(Rules):
    """The endpoints of firewall rules name networks and groups of addresses."""

    kind: ClassVar[str] = "firewall_rule"

    def joined(self, document: Document) -> Iterable[Name]:
        yield from named_by_action(document.get("action_list"))
        for field in ("endpoint_1", "endpoint_2"):
            endpoint = document.get(field) or {}
            yield from named("virtual_network", endpoint.get("virtual_network"))
            yield from named("address_group", endpoint.get("address_group"))
