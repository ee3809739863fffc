"""A network policy is compiled with each network that attaches it; here faults in its rules are reported, once each.

``policy_rules.py`` leaves out what is at fault, and that alone (docs/contrail.md D.4.3). Faults of the services that
rules name are reported by ``service_chain.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent

from .protocols import acl_protocol


class NetworkPolicyIntent(Intent):
    kind = "network_policy"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for position, rule in enumerate(self.network_policy_entries.policy_rule, 1):
            label = f"rule {position} ({rule.rule_uuid})" if rule.rule_uuid else f"rule {position}"
            for reason, message in (*_faults(rule), *self._unknown_policies(rule, ctx)):
                ctx.problem(reason, f"{label}: {message}")
        return ()

    @staticmethod
    def _unknown_policies(rule: Any, ctx: Context) -> Iterator[tuple[str, str]]:
        named = (address.network_policy for address in (*rule.src_addresses, *rule.dst_addresses))
        for name in dict.fromkeys(named):
            if name and ctx.find("network_policy", tuple(name.split(":"))) is None:
                message = f"there is no network policy {name}; that part of the rule is left out until it is created"
                yield "UnknownNetworkPolicy", message


def _faults(rule: Any) -> Iterator[tuple[str, str]]:
    """(reason, message) of each fault that the rule has by itself."""
    try:
        acl_protocol(rule.protocol, rule.ethertype)
    except ValueError as error:
        yield "UnknownProtocol", f"{error}; the rule is left out"
    if not rule.action_list:
        yield "RuleWithoutAction", "it has no action; the rule is left out: give for example simple_action pass"
    for side, addresses, ports in (
        ("source", rule.src_addresses, rule.src_ports),
        ("destination", rule.dst_addresses, rule.dst_ports),
    ):
        if not addresses:
            yield "RuleWithoutAddress", f"it has no {side} address; the rule is left out"
        if not ports:
            yield "RuleWithoutPorts", f"it has no {side} ports; the rule is left out: give -1 to -1 for all"
        if any(address.security_group for address in addresses):
            message = f"a {side} address names a security group, which policies can't"
            yield "SecurityGroupInPolicy", f"{message}; that part of the rule is left out"
