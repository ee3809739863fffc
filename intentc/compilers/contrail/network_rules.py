"""The rules of a network's access control lists, from all its policies, and where each comes from (docs/contrail.md
D.4).

``network_rules`` converts and gathers; ``trailing_rules`` are those at the end of the static list. One rule of a policy
is converted in ``policy_rules.py``; what a network's rules mean for its connections is in ``connected_networks.py``.

A rule that an earlier one covers is left out (D.4.3): the earlier one matches all that it matches, in the dynamic list
with the same analyzer. Actions and directions do not count, so the first rule decides. Earlier rules are found by
protocol and addresses, not by a scan: a list may have hundreds.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from intentc import Context, InvalidInput, Source, View

from .automatic_policy import EVERY_PORT, AutomaticPolicy
from .policy_rules import ANY, DENY, PASS, Address, ListRule, list_rules

if TYPE_CHECKING:
    from .network_acl import NetworkSurroundings

PORT, AUTOMATIC = -1, -2

Way = tuple[str, str, int]

Ways = tuple[Way, ...]


def way_sources(way: Way) -> tuple[Source, ...]:
    """The sources of one way, all of which it needs."""
    network, name, position = way
    if position == PORT:
        kind = "virtual_machine_interface"
        mirror = Source(kind, name, "virtual_machine_interface_properties.interface_mirror")
        return Source(kind, name, f"virtual_network_refs[{network}]"), mirror
    if position == AUTOMATIC:
        return (Source("service_instance", name, "service_instance_properties.auto_policy"),)
    return (
        Source("virtual_network", network, f"network_policy_refs[{name}]"),
        Source("network_policy", name, f"network_policy_entries.policy_rule[{position}]"),
    )


class AttachedPolicy(NamedTuple):
    """``policy`` is None while it does not exist. ``is_timed``: its rules are for the dynamic list."""

    policy: View | None
    is_timed: bool


def attached_policies(network: View, ctx: Context) -> list[AttachedPolicy]:
    """By sequence, and then as the network names them; those without a sequence last."""
    found: list[tuple[tuple[int, int, int], AttachedPolicy]] = []
    seen: set[str] = set()
    for policy, attached in network.written_references("network_policy"):
        if attached.sequence is None and attached.timer:
            name = ":".join(policy.fq_name) if policy else "a policy"
            message = f"it attaches {name} with a timer and no sequence, so its place among the others is unknown"
            ctx.problem("PolicyWithoutSequence", f"{message}; the policy has no effect until it has a sequence")
            continue
        sequence = attached.sequence
        order = (1, 0, 0) if sequence is None else (0, sequence.major, sequence.minor)
        if policy is None or policy.uuid not in seen:
            seen.add(policy.uuid if policy else "")
            found.append((order, AttachedPolicy(policy, bool(attached.timer))))
    return [policy for _, policy in sorted(found, key=lambda item: item[0])]


ANY_PROTOCOL = "any"


class _Prefix(NamedTuple):
    """The first ``length`` bits of an address."""

    version: int
    length: int
    bits: int


class RuleList:
    """The rules of one list so far. ``dynamic``: a rule covers only rules with the same analyzer."""

    def __init__(self, *, dynamic: bool = False) -> None:
        self.rules: list[ListRule] = []
        self._dynamic = dynamic
        self._found: dict[tuple[str, object, object], list[ListRule]] = {}
        """Protocol, source and destination as the covering side has them → rules."""
        self._lengths: set[tuple[int, int]] = set()
        """(version, length) of the prefixes so far."""

    def append(self, rule: ListRule) -> ListRule | None:
        """Adds the rule, unless an earlier one covers it: then that one is returned."""
        covering = self._covering(rule)
        if covering is not None:
            return covering
        self.rules.append(rule)
        for source in _own_forms(rule.source):
            for destination in _own_forms(rule.destination):
                self._found.setdefault((rule.protocol, source, destination), []).append(rule)
        for address in (rule.source, rule.destination):
            self._lengths |= {(prefix.version, prefix.length) for prefix in _prefixes(address)}
        return None

    def _covering(self, rule: ListRule) -> ListRule | None:
        sources, destinations = list(self._wider(rule.source)), list(self._wider(rule.destination))
        for protocol in dict.fromkeys((rule.protocol, ANY_PROTOCOL)):
            for source in sources:
                for destination in destinations:
                    for earlier in self._found.get((protocol, source, destination), ()):
                        if self._covers(earlier, rule):
                            return earlier
        return None

    def _covers(self, earlier: ListRule, rule: ListRule) -> bool:
        return (
            _within(rule.source_port, earlier.source_port)
            and _within(rule.destination_port, earlier.destination_port)
            and (not self._dynamic or earlier.analyzer_name == rule.analyzer_name)
        )

    def _wider(self, address: Address) -> Iterator[object]:
        """The forms of addresses that contain this one."""
        if not address.subnets:
            yield from dict.fromkeys((address.network, ANY))
        for prefix in _prefixes(address):
            for version, length in self._lengths:
                if version == prefix.version and length <= prefix.length:
                    yield _Prefix(version, length, prefix.bits >> (prefix.length - length))


def _own_forms(address: Address) -> list[object]:
    """What stands for an address: its subnets, or its network if it has none."""
    return list(dict.fromkeys(_prefixes(address))) if address.subnets else [address.network]


def _prefixes(address: Address) -> list[_Prefix]:
    """The readable subnets of an address; those that can't be read cover nothing, and nothing covers them."""
    found = []
    for subnet in address.subnets:
        try:
            network = ipaddress.ip_network(f"{subnet.ip_prefix}/{subnet.ip_prefix_len}", strict=False)
        except ValueError:
            continue
        length = network.prefixlen
        found.append(_Prefix(network.version, length, int(network.network_address) >> (network.max_prefixlen - length)))
    return found


def _within(inner: Any, outer: Any) -> bool:
    """Whether a range of ports lies in another; an end of −1 has no limit."""
    is_before_end: bool = outer.end_port == -1 or inner.end_port <= outer.end_port
    return is_before_end and bool(inner.start_port >= outer.start_port)


ALLOW_UUID = "00000000-0000-0000-0000-100000000001"
DENY_UUID = "00000000-0000-0000-0000-100000000002"
"""The uuids of rules that no policy has, so that statistics can name them."""

FABRIC = "default-domain:default-project:ip-fabric"
"""The network of the fabric itself, the first provider network."""

BOTH_WAYS = "<>"

MAX_RULES = 500
"""Rules that the policies of one network may be converted to. A rule takes about 1 KB in each of etcd, the API server
and the compiler, and networks whose policies name each other have as many rules as there are pairs of them."""


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


def network_rules(
    policies: Iterable[AttachedPolicy], automatic: Iterable[AutomaticPolicy], surroundings: NetworkSurroundings
) -> NetworkRules:
    """Converts the policies, in their order, and then those of services. Raises ``InvalidInput`` if they give too many
    rules."""
    found = NetworkRules()
    for name, position, rule, timed in _rules(policies, automatic):
        rules = found.dynamic if timed else found.static
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
    yield TrailingRule(_trailing(ALLOW_UUID, "", me, me, PASS))
    if network.fabric_snat:
        yield TrailingRule(_trailing(ALLOW_UUID, BOTH_WAYS, me, FABRIC, PASS), field="fabric_snat")
        yield TrailingRule(_trailing(DENY_UUID, BOTH_WAYS, me, ANY, DENY), field="fabric_snat")
    if not routers:
        yield TrailingRule(_trailing(DENY_UUID, "", ANY, ANY, DENY))
        return
    for rule in rules:
        ends = (_without_subnets(rule.source), _without_subnets(rule.destination))
        yield TrailingRule(_between(rule.rule_uuid, rule.direction, *ends, DENY), copied=rule)
    if network.is_provider_network:
        yield TrailingRule(_trailing(DENY_UUID, BOTH_WAYS, me, ANY, DENY), field="is_provider_network")
    for provider in providers:
        yield TrailingRule(_trailing(DENY_UUID, BOTH_WAYS, me, provider, DENY), provider=provider)
    yield TrailingRule(_trailing(ALLOW_UUID, "", ANY, ANY, PASS))


def _trailing(rule_uuid: str, direction: str, source: str, destination: str, action: str) -> ListRule:
    return _between(rule_uuid, direction, Address(source), Address(destination), action)


def _between(rule_uuid: str, direction: str, source: Address, destination: Address, action: str) -> ListRule:
    """A rule for every protocol and port."""
    return ListRule(
        rule_uuid, direction, ANY, source, EVERY_PORT, destination, EVERY_PORT, {"simple_action": action}, action
    )


def _without_subnets(address: Address) -> Address:
    """A network as a whole; an address without a network keeps its subnets."""
    return address._replace(subnet=None, subnet_list=()) if address.network else address
