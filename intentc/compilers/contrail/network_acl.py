"""The access control lists of a network, static and dynamic, and what its policies mean for other intents
(docs/contrail.md D.4).

Here is decided which lists there are, and what a network's rules must know of other networks; ``network_rules.py``
makes the rules. The facts for links are made in ``connected_networks.py``, those for chains in ``service_chain.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from intentc import Claim, Context, Fact, Intent, ResourceClaim, Source, View

from .automatic_policy import AutomaticPolicy, automatic_policies
from .connected_networks import connection_facts, wanted
from .mirroring_service import DESTINATION, MIRRORING
from .network_rules import AttachedPolicy, NetworkRules, TrailingRule, attached_policies, network_rules, trailing_rules
from .policy_rules import Analyzer, ListRule
from .route_target_sources import Reasons, explained
from .service_chain import TRANSLATING_CHAIN, chain_facts

ATTACHED_NETWORK, KNOWN_NETWORK, MULTI_POLICY_NETWORK = "attached_network", "known_network", "multi_policy_network"
"""Facts: the networks that attach a policy, by its name; all, by their projects' and their own names; those with chains
of several policies, by name."""


class NetworkSurroundings:
    """The world as ``network`` sees it, which attaches ``policies``. Names of networks are read from facts: a change of
    another network's fields then concerns nobody here. They are fq_names joined by ``:``."""

    def __init__(self, network: View, policies: Iterable[AttachedPolicy], ctx: Context) -> None:
        self._ctx = ctx
        self._view = network
        self.network = ":".join(network.fq_name)
        self._policies = {":".join(attached.policy.fq_name) for attached in policies if attached.policy}
        self.analyzers: set[str] = set()
        """The services that were looked up as analyzers."""
        self._lists: dict[tuple[str, str], tuple[str, ...]] = {}

    def attaches(self, policy: str) -> bool:
        """Whether this network attaches a policy."""
        return policy in self._policies

    def networks_of_policy(self, policy: str) -> tuple[str, ...]:
        """The networks that attach a policy; none for a policy that does not exist."""
        found = self._names(ATTACHED_NETWORK, policy)
        # In its first run this network's own fact is not there yet.
        is_missing = policy in self._policies and self.network not in found
        return tuple(sorted((*found, self.network))) if is_missing else found

    def networks_of_project(self) -> tuple[str, ...]:
        """The other networks of this network's project."""
        project = self.network.rpartition(":")[0]
        return tuple(name for name in self._names(KNOWN_NETWORK, project) if name != self.network)

    def is_network(self, name: str) -> bool:
        return self._ctx.contributed(KNOWN_NETWORK, name)

    def analyzer(self, service: str) -> Analyzer | None:
        """Where a service instance receives mirrored traffic, None while it can't."""
        self.analyzers.add(service)
        found: Analyzer | None = self._ctx.fact(DESTINATION, service)
        return found

    def is_joined(self, other: str) -> bool:
        """Whether this network is connected with one at the other end of a service chain: both let chains of several
        policies lie between them, and none of these ends with a service that translates addresses."""
        enabled = bool(self._view.multi_policy_service_chains_enabled)
        allowed = enabled and self._ctx.contributed(MULTI_POLICY_NETWORK, other)
        return allowed and not self._ctx.contributed(TRANSLATING_CHAIN, "|".join(sorted((self.network, other))))

    def _names(self, kind: str, name: str) -> tuple[str, ...]:
        """The networks that contribute to a fact, by name."""
        found = self._lists.get((kind, name))
        if found is None:
            contributions = self._ctx.contributions(kind, name)
            found = self._lists[kind, name] = tuple(sorted(network for _, network in contributions))
        return found


def membership_facts(network: View, policies: Iterable[AttachedPolicy]) -> Iterable[Fact]:
    """What other networks' rules must know of this one."""
    me = ":".join(network.fq_name)
    yield Fact(KNOWN_NETWORK, me.rpartition(":")[0], me)
    yield Fact(KNOWN_NETWORK, me, me)
    if network.multi_policy_service_chains_enabled:
        yield Fact(MULTI_POLICY_NETWORK, me, me)
    for attached in policies:
        if attached.policy is not None:
            yield Fact(ATTACHED_NETWORK, ":".join(attached.policy.fq_name), me)


DYNAMIC = "dynamic"
"""The name of the list of policies with a timer; the other one has the network's name."""


def network_policies(network: Intent, ctx: Context) -> Iterator[Claim | Fact]:
    """What follows from the policies of ``network``: its lists, and facts for other networks and for links."""
    policies = attached_policies(network, ctx)
    surroundings = NetworkSurroundings(network, policies, ctx)
    yield from membership_facts(network, policies)
    me = surroundings.network
    automatic = automatic_policies(me, ctx)
    rules = network_rules(policies, automatic, surroundings)
    yield from connection_facts(me, wanted(me, rules, surroundings.is_joined))
    yield from chain_facts(me, rules)
    for service in sorted(surroundings.analyzers):
        yield Fact(MIRRORING, service, True)
    linked = _linked(network)
    standing = _standing(network, policies, automatic, linked)
    if standing:
        yield from _static(network, rules, linked, standing, ctx)
    timed = [attached for attached in policies if attached.is_timed]
    if timed:
        claim = _claim(network, DYNAMIC, rules.dynamic.rules, dynamic=True)
        if ctx.explaining:
            explained(ctx, claim, _attachments(network, timed))
            _explain(claim, rules.dynamic.rules, _origins(network, rules), ctx)
        yield claim


def _static(
    network: Intent, rules: NetworkRules, linked: list[View], standing: Reasons, ctx: Context
) -> Iterator[Claim]:
    providers = [":".join(other.fq_name) for other in linked if other.is_provider_network]
    # Traffic that no policy decides may pass, because a router may lead it to another network.
    routers = ctx.setting("contrail.logical_routers_enabled", True) is not False
    own = list(rules.static.rules)
    trailing = []
    for last in trailing_rules(network, own, providers, routers=routers):
        if rules.static.append(last.rule) is None:
            trailing.append(last)
    claim = _claim(network, network.name, rules.static.rules)
    if ctx.explaining:
        explained(ctx, claim, standing)
        reasons = _origins(network, rules)
        for last in trailing:
            reasons[id(last.rule)] = _reasons_of_trailing(network, last, reasons, standing)
        _explain(claim, rules.static.rules, reasons, ctx)
    yield claim


def _claim(network: Intent, name: str, rules: Iterable[ListRule], *, dynamic: bool = False) -> ResourceClaim:
    entries = {"dynamic": dynamic, "acl_rule": [rule.entry() for rule in rules]}
    return network.child("access_control_list", name, access_control_list_entries=entries)


def _linked(network: View) -> list[View]:
    """The networks that are linked with this one as its provider or as a user of it, whichever of them refers to the
    other. Who they are matters to users only, and provider networks have very many."""
    others = network.references("virtual_network")
    if network.is_provider_network:
        return list(others)
    found = {other.uuid: other for other in (*others, *network.back_references("virtual_network"))}
    return sorted(found.values(), key=lambda other: other.fq_name)


def _standing(
    network: View,
    policies: Sequence[AttachedPolicy],
    automatic: Sequence[AutomaticPolicy],
    linked: Iterable[View],
) -> Reasons:
    """Why there is a static list; empty if there is none."""
    found: Reasons = _attachments(network, [attached for attached in policies if not attached.is_timed])
    found += [(policy.source,) for policy in automatic]
    if network.is_provider_network:
        found.append((Source.of(network, "is_provider_network"),))
    if not any(attached.is_timed for attached in policies):
        # With a policy as well: the list stays when the policy is detached.
        found.extend(reason for other in linked for reason in _link_reasons(network, other))
        if network.fabric_snat:
            found.append((Source.of(network, "fabric_snat"),))
    return found


def _attachments(network: View, policies: Iterable[AttachedPolicy]) -> Reasons:
    """The attachment of each policy; of one that does not exist, the network itself."""
    return [
        (Source.of(network, f"network_policy_refs[{':'.join(attached.policy.fq_name)}]" if attached.policy else ""),)
        for attached in policies
    ]


def _link_reasons(network: View, other: View) -> Reasons:
    """Each reference between the two networks."""
    return [
        (Source.of(holder, f"virtual_network_refs[{':'.join(target.fq_name)}]"),)
        for holder, target in ((network, other), (other, network))
        if any(reference.uuid == target.uuid for reference in holder.references("virtual_network"))
    ]


def _origins(network: View, rules: NetworkRules) -> dict[int, Reasons]:
    """The reasons of each rule that policies gave, by its identity: where it comes from, and where else an equal one
    does, which it covers."""
    me = ":".join(network.fq_name)
    found: dict[int, Reasons] = {}
    for in_force, origin in rules.origins:
        if in_force is origin.rule or in_force.entry() == origin.rule.entry():
            found.setdefault(id(in_force), []).append(origin.sources(me))
    return found


def _reasons_of_trailing(network: View, last: TrailingRule, reasons: dict[int, Reasons], standing: Reasons) -> Reasons:
    if last.copied is not None:
        return reasons.get(id(last.copied), [])
    if last.field:
        return [(Source.of(network, last.field),)]
    if last.provider:
        (provider,) = (other for other in _linked(network) if ":".join(other.fq_name) == last.provider)
        return _link_reasons(network, provider)
    return standing


def _explain(claim: ResourceClaim, rules: Sequence[ListRule], reasons: dict[int, Reasons], ctx: Context) -> None:
    for position, rule in enumerate(rules):
        explained(ctx, claim, reasons.get(id(rule), ()), f"access_control_list_entries.acl_rule[{position}]")
