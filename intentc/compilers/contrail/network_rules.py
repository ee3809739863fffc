"""The rules of a network's access control lists, from all its policies, and where each comes from (docs/contrail.md
D.4).

``network_rules`` converts and gathers; ``trailing_rules`` are those at the end of the static list. One rule of a policy
is converted in ``policy_rules.py``. What a network's rules mean for its connections is in ``connections.py``.

It reads through the views and the ``Surroundings`` that it gets, and returns values; it claims nothing. State: the
rules of one network while they are gathered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from intentc import InvalidInput, Source, View

from .attached_policies import AttachedPolicy
from .automatic_policy import AutomaticPolicy
from .covering import RuleList
from .policy_rules import ANY, DENY, PASS, Address, ListRule, Surroundings, list_rules
from .rule_sources import AUTOMATIC, way_sources

ALLOW_UUID = "00000000-0000-0000-0000-100000000001"
DENY_UUID = "00000000-0000-0000-0000-100000000002"
"""The uuids of rules that no policy has, so that statistics can name them."""

FABRIC = "default-domain:default-project:ip-fabric"
"""The network of the fabric itself, the first provider network."""

BOTH_WAYS = "<>"

MAX_RULES = 500
"""Rules that the policies of one network may be converted to. A rule takes about 1 KB in each of etcd, the API server
and the compiler, and networks whose policies name each other have as many rules as there are pairs of them."""


class PortRange(msgspec.Struct, frozen=True, omit_defaults=True):
    start_port: int = 0
    end_port: int = 0


EVERY_PORT = PortRange(0, 65535)


class Origin(NamedTuple):
    """Where a converted rule comes from: the rule at ``position`` of ``policy``, and the two addresses in it; or, with
    the position ``AUTOMATIC``, the policy of the service ``policy``."""

    policy: str
    position: int
    rule: ListRule

    def sources(self, network: str) -> tuple[Source, ...]:
        """What the rule follows from in the lists of ``network``: that it attaches the policy, both ends in the rule of
        the policy, and the networks that had to be there."""
        found: list[Source] = []
        if self.position == AUTOMATIC:
            found += way_sources((network, self.policy, AUTOMATIC))
        else:
            path = f"network_policy_entries.policy_rule[{self.position}]"
            ends = (self.rule.source, self.rule.destination)
            memberships = [(network, self.policy), *ends[0].memberships, *ends[1].memberships]
            found += (Source("network_policy", self.policy, f"{path}.{end.place}") for end in ends)
            found += (Source("virtual_network", member, f"network_policy_refs[{name}]") for member, name in memberships)
        if self.rule.chain is not None:
            chain = self.rule.chain
            found.append(Source("virtual_network", chain.right if chain.left == network else chain.left))
        return tuple(dict.fromkeys(found))


class NetworkRules:
    """The converted rules of one network: those of its static and of its dynamic list. Of each rule, covered ones too,
    ``origins`` says where it comes from."""

    def __init__(self) -> None:
        self.static = RuleList()
        self.dynamic = RuleList(dynamic=True)
        self.origins: list[tuple[ListRule, Origin]] = []
        """(the rule in force, the origin of it or of a rule that it covers)."""

    def of(self, *, timed: bool) -> RuleList:
        return self.dynamic if timed else self.static


def network_rules(
    policies: Iterable[AttachedPolicy], automatic: Iterable[AutomaticPolicy], surroundings: Surroundings
) -> NetworkRules:
    """Converts the policies, in their order, and then those of services. Raises ``InvalidInput`` if they give too many
    rules."""
    found = NetworkRules()
    for name, position, rule, timed in _rules(policies, automatic):
        rules = found.of(timed=timed)
        for converted in list_rules(rule, surroundings):
            covering = rules.append(converted)
            found.origins.append((covering or converted, Origin(name, position, converted)))
            if len(found.static.rules) + len(found.dynamic.rules) > MAX_RULES:
                last = f"rule {position + 1} of {name}" if position >= 0 else f"the auto_policy of {name}"
                raise InvalidInput(
                    f"its policies give more than {MAX_RULES} rules, the last of them from {last}; its lists stay as "
                    "they are: let fewer networks attach the policies that its rules name, name subnets or `any` in "
                    "place of many networks, or divide the network"
                )
    return found


def _rules(
    policies: Iterable[AttachedPolicy], automatic: Iterable[AutomaticPolicy]
) -> Iterator[tuple[str, int, Any, bool]]:
    """(policy or service, position, rule, whether it is for the dynamic list) of each rule, in their order."""
    for attached in policies:
        if attached.policy is not None:
            name = ":".join(attached.policy.fq_name)
            for position, rule in enumerate(attached.policy.network_policy_entries.policy_rule):
                yield name, position, rule, attached.is_timed
    for policy in automatic:
        yield policy.service, AUTOMATIC, policy.rule, False


class TrailingRule(NamedTuple):
    """A rule at the end of the static list, and why it is there: the copied rule, or a field of the network, or the
    link with a provider network. With none of these it is there because the list is."""

    rule: ListRule
    copied: ListRule | None = None
    field: str = ""
    provider: str = ""


def trailing_rules(
    network: View, rules: Sequence[ListRule], providers: Iterable[str], *, routers: bool
) -> Iterator[TrailingRule]:
    """The rules after those of the policies, ``rules``. ``providers``: the provider networks that the network is linked
    with; ``routers``: whether traffic may pass through routers where no policy decides."""
    me = ":".join(network.fq_name)
    yield TrailingRule(_rule(ALLOW_UUID, "", me, me, PASS))
    if network.fabric_snat:
        yield TrailingRule(_rule(ALLOW_UUID, BOTH_WAYS, me, FABRIC, PASS), field="fabric_snat")
        yield TrailingRule(_rule(DENY_UUID, BOTH_WAYS, me, ANY, DENY), field="fabric_snat")
    if not routers:
        yield TrailingRule(_rule(DENY_UUID, "", ANY, ANY, DENY))
        return
    for rule in rules:
        ends = (_without_subnets(rule.source), _without_subnets(rule.destination))
        yield TrailingRule(_between(rule.rule_uuid, rule.direction, *ends, DENY), copied=rule)
    if network.is_provider_network:
        yield TrailingRule(_rule(DENY_UUID, BOTH_WAYS, me, ANY, DENY), field="is_provider_network")
    for provider in providers:
        yield TrailingRule(_rule(DENY_UUID, BOTH_WAYS, me, provider, DENY), provider=provider)
    yield TrailingRule(_rule(ALLOW_UUID, "", ANY, ANY, PASS))


def _rule(rule_uuid: str, direction: str, source: str, destination: str, action: str) -> ListRule:
    return _between(rule_uuid, direction, Address(source), Address(destination), action)


def _between(rule_uuid: str, direction: str, source: Address, destination: Address, action: str) -> ListRule:
    """A rule for every protocol and port."""
    return ListRule(
        rule_uuid, direction, ANY, source, EVERY_PORT, destination, EVERY_PORT, {"simple_action": action}, action
    )


def _without_subnets(address: Address) -> Address:
    """A network as a whole; an address without a network keeps its subnets."""
    return address._replace(subnet=None, subnet_list=()) if address.network else address
