"""Completes and checks security groups: rules, rule uuids, and the group's number (docs/contrail.md B.5.9, B.7).

``admit`` completes ``change.after`` in place; nothing else is changed. The server reads, allocates and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model.names import Name

from ..errors import BadRequest, Forbidden
from ..integers import parse_integer
from .names import named_by_action
from .policy_rules import addresses, check_family, fill_rule_uuids, reject_duplicates, rules_of, subnets
from .rules import Change, Document, Found, Number, Release, Rules, Uuids

POOL = "security_group_id"
OFFSET = 8_000_000
_FIELD = "security_group_entries"
_PROTOCOLS = frozenset({"any", "icmp", "tcp", "udp", "icmp6"})


class SecurityGroupRules(Rules):
    """The rules of security groups. The number is the configured id, or 8000000 + n with n from the pool."""

    kind: ClassVar[str] = "security_group"
    takes_numbers: ClassVar[bool] = True

    def joined(self, document: Document) -> Iterable[Name]:
        for rule in rules_of(document, _FIELD):
            yield from named_by_action(rule.get("action_list"))

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if change.changes("security_group_id") and not change.privileged:
            raise Forbidden(
                "security_group_id is given by the server; set configured_security_group_id to choose the number"
            )
        rules = rules_of(after, _FIELD)
        if _FIELD in change.given:
            for place, rule in enumerate(rules):
                _check_rule(rule, f"{_FIELD}.policy_rule[{place}]")
            reject_duplicates(rules, _FIELD)
        fill_rule_uuids(after, _FIELD, Name(self.kind, tuple(after["fq_name"])), uuids)
        configured = after.get("configured_security_group_id") or 0
        if configured > 0:
            after["security_group_id"] = configured

    def numbers(self, change: Change) -> Iterable[Number | Release]:
        if change.after is None:
            return (Release(POOL, change.uuid),)
        had, has = _is_configured(change.before), _is_configured(change.after)
        if has:
            return (Release(POOL, change.uuid),) if change.before is not None and not had else ()
        # A seed brings its number along; a group that loses its configured one still shows that.
        if had or not change.after.get("security_group_id"):
            return (Number(POOL, change.uuid, field="security_group_id", offset=OFFSET),)
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
