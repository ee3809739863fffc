"""Completes and checks the rule lists of network policies and security groups (docs/contrail.md B.5.9, B.7).

``admit`` and ``fill_rule_uuids`` complete the document that they get in place. ``names.py`` finds what a rule's action
names. What only security groups have is in ``security_group.py``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from intentc.model.names import Name

from ..errors import BadRequest, Conflict
from .names import named, named_by_action
from .rules import Change, Document, Found, Rules, Uuids

_FIELD = "network_policy_entries"
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


def fill_rule_uuids(document: Document, field: str, name: Name, uuids: Uuids) -> None:
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
        for rule in rules_of(document, _FIELD):
            yield from named_by_action(rule.get("action_list"))
            yield from named("network_policy", *(address.get("network_policy") for address in addresses(rule)))

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        rules = rules_of(after, _FIELD)
        if _FIELD in change.given:
            for place, rule in enumerate(rules):
                where = f"{_FIELD}.policy_rule[{place}]"
                if not rule.get("action_list"):
                    raise BadRequest(f"{where}: action_list is missing; give for example simple_action: pass")
                if any(address.get("security_group") for address in addresses(rule)):
                    raise BadRequest(f"{where}: a policy can't name security groups; name networks or subnets")
            reject_duplicates(rules, _FIELD)
        fill_rule_uuids(after, _FIELD, Name(self.kind, tuple(after["fq_name"])), uuids)
