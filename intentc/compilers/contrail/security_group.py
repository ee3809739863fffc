"""A security group has two access control lists below it, even without rules (docs/contrail.md D.5).

A rule has lists of addresses and ports on both sides; a rule of an access control list has one of each. A part that
can't be converted is left out alone, with a problem that names the part and the rule; the rest of the group stays in
force. Rules of policies are converted in ``policy_rules.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from intentc import Claim, Context, Fact, Intent, Source, View

from .protocols import acl_protocol

LOCAL = "local"
"""The group name for the interfaces that carry the group."""

ANY_GROUP = "any"
ANY_GROUP_NUMBER = "-1"

ALL_PORTS = {"end_port": 65535}
"""The meaning of an empty list of ports."""

PASS = {"simple_action": "pass"}
"""The action of every rule, whatever it says: the data plane denies what no rule passes."""


class AclRules(NamedTuple):
    """The rules of both lists, as the entries' ``acl_rule`` has them.

    ``origins``: the sources of each list's rules, in their order; empty unless an explanation is requested.
    """

    ingress: list[dict[str, Any]]
    egress: list[dict[str, Any]]
    origins: tuple[list[tuple[Source, ...]], list[tuple[Source, ...]]]


class _Address(NamedTuple):
    """One address of a rule: its form in the list, whether it is local, and its form in the rule."""

    converted: Any
    local: bool
    given: Any


def acl_rules(group: View, ctx: Context) -> AclRules:
    """The rules in the group's order; within one by source address, source port, destination address, destination port.
    Duplicates stay."""
    result = AclRules([], [], ([], []))
    numbers: dict[str, str] = {}
    explaining = ctx.explaining
    for position, rule in enumerate(group.security_group_entries.policy_rule, 1):
        label = f"rule {position} ({rule.rule_uuid})" if rule.rule_uuid else f"rule {position}"
        if not rule.protocol:
            ctx.problem("RuleWithoutProtocol", f"{label} has no protocol; write any, or which; the rule is left out")
            continue
        try:
            protocol = acl_protocol(rule.protocol, rule.ethertype)
        except ValueError as error:
            ctx.problem("UnknownProtocol", f"{label}: {error}; the rule is left out")
            continue
        if not rule.src_addresses or not rule.dst_addresses:
            side = "destination" if rule.src_addresses else "source"
            ctx.problem("RuleWithoutAddress", f"{label} has no {side} address; the rule is left out")
            continue
        sources = list(_addresses(rule.src_addresses, numbers, group, ctx, label))
        destinations = list(_addresses(rule.dst_addresses, numbers, group, ctx, label))
        for source in sources:
            for source_port in rule.src_ports or (ALL_PORTS,):
                for destination in destinations:
                    if not (source.local or destination.local):
                        continue
                    # The destination comes first: a rule that is local on both sides is ingress.
                    rules = result.ingress if destination.local else result.egress
                    for destination_port in rule.dst_ports or (ALL_PORTS,):
                        rules.append(
                            {
                                "rule_uuid": rule.rule_uuid,
                                "match_condition": {
                                    "protocol": protocol,
                                    "ethertype": rule.ethertype,
                                    "src_address": source.converted,
                                    "src_port": source_port,
                                    "dst_address": destination.converted,
                                    "dst_port": destination_port,
                                },
                                "action_list": PASS,
                            }
                        )
                    if explaining:
                        origin = _origin(group, position, source, destination)
                        result.origins[not destination.local].extend([origin] * len(rule.dst_ports or (ALL_PORTS,)))
        if not (all(source.local for source in sources) or all(destination.local for destination in destinations)):
            _report_pairs_without_local(sources, destinations, ctx, label)
    return result


def group_number(name: str, group: View, ctx: Context) -> str:
    """The form in an access control list of the group that a rule of ``group`` names: its number as text.

    Empty for ``local`` and for no group; "-1" for ``any``. Raises ``LookupError`` for a group that does not exist or
    has no number yet.
    """
    if name in ("", LOCAL):
        return ""
    if name == ANY_GROUP:
        return ANY_GROUP_NUMBER
    fq_name = tuple(name.split(":"))
    named = group if fq_name == group.fq_name else ctx.find("security_group", fq_name)
    if named is None:
        raise LookupError(f"there is no security group {name}")
    if not named.security_group_id:
        raise LookupError(f"security group {name} has no number yet")
    return str(named.security_group_id)


def _addresses(
    addresses: Sequence[Any], numbers: dict[str, str], group: View, ctx: Context, label: str
) -> Iterator[_Address]:
    """The addresses that can be converted. ``numbers``: group's name → number, a cache."""
    for address in addresses:
        name = address.security_group
        if not name:
            yield _Address(address, False, address)
            continue
        try:
            number = numbers.get(name)
            if number is None:
                number = numbers[name] = group_number(name, group, ctx)
        except LookupError as error:
            ctx.problem(
                "UnknownSecurityGroup",
                f"{label}: {error}; that part of the rule is left out until the group is created",
            )
            continue
        yield _Address(msgspec.structs.replace(address, security_group=number), name == LOCAL, address)


def _origin(group: View, position: int, *addresses: _Address) -> tuple[Source, ...]:
    """The sources of a rule: the group's rule at ``position``, and the other groups whose numbers it needs."""
    own = ":".join(group.fq_name)
    named = {address.given.security_group for address in addresses} - {"", LOCAL, ANY_GROUP, own}
    rule = Source.of(group, f"security_group_entries.policy_rule[{position - 1}]")
    return (rule, *(Source("security_group", name) for name in sorted(named)))


def _report_pairs_without_local(
    sources: list[_Address], destinations: list[_Address], ctx: Context, label: str
) -> None:
    for source in sources:
        for destination in destinations:
            if not (source.local or destination.local):
                sides = f"neither {_shown(source.given)} nor {_shown(destination.given)}"
                message = f"{label}: {sides} is local; make one side local"
                ctx.problem("RuleWithoutLocal", f"{message}; that part of the rule is left out")


def _shown(address: Any) -> str:
    """An address that is not local, as messages show it."""
    subnets = (address.subnet, *address.subnet_list) if address.subnet else address.subnet_list
    shown = ", ".join(f"{subnet.ip_prefix}/{subnet.ip_prefix_len}" for subnet in subnets)
    return shown or address.security_group or address.virtual_network or address.network_policy or "an empty address"


INGRESS = "ingress-access-control-list"
EGRESS = "egress-access-control-list"


class SecurityGroupIntent(Intent):
    kind = "security_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        rules = acl_rules(self, ctx)
        ingress = self.child("access_control_list", INGRESS, access_control_list_entries={"acl_rule": rules.ingress})
        egress = self.child("access_control_list", EGRESS, access_control_list_entries={"acl_rule": rules.egress})
        if ctx.explaining:
            for access_control_list, origins in zip((ingress, egress), rules.origins, strict=True):
                for position, sources in enumerate(origins):
                    part = f"access_control_list_entries.acl_rule[{position}]"
                    ctx.because(access_control_list, *sources, part=part)
        yield ingress
        yield egress
