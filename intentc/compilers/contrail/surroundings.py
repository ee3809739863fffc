"""Reads what a network's policies must know of other networks, and yields what those must know of it.

The former is ``policy_rules.Surroundings``, and whether chains of several policies join two networks.

It reads through ``ctx``, and makes facts; it claims nothing. State: what it read for one evaluation, and the analyzers
that it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Context, Fact, View

from .attached_policies import AttachedPolicy
from .mirroring_service import DESTINATION
from .policy_rules import Analyzer
from .service_chain import are_separated

ATTACHED_NETWORK, KNOWN_NETWORK, MULTI_POLICY_NETWORK = "attached_network", "known_network", "multi_policy_network"
"""Facts: the networks that attach a policy, by its name; all, by their projects' and their own names; those with chains
of several policies, by name."""


class NetworkSurroundings:
    """The world as ``network`` sees it, which attaches ``policies``. Names of networks are read from facts: a change of
    another network's fields then concerns nobody here."""

    def __init__(self, network: View, policies: Iterable[AttachedPolicy], ctx: Context) -> None:
        self._ctx = ctx
        self._view = network
        self.network = ":".join(network.fq_name)
        self._policies = {":".join(attached.policy.fq_name) for attached in policies if attached.policy}
        self.analyzers: set[str] = set()
        """The services that were looked up as analyzers."""
        self._lists: dict[tuple[str, str], tuple[str, ...]] = {}

    def attaches(self, policy: str) -> bool:
        return policy in self._policies

    def networks_of_policy(self, policy: str) -> tuple[str, ...]:
        found = self._names(ATTACHED_NETWORK, policy)
        # In its first run this network's own fact is not there yet.
        is_missing = policy in self._policies and self.network not in found
        return tuple(sorted((*found, self.network))) if is_missing else found

    def networks_of_project(self) -> tuple[str, ...]:
        project = self.network.rpartition(":")[0]
        return tuple(name for name in self._names(KNOWN_NETWORK, project) if name != self.network)

    def is_network(self, name: str) -> bool:
        return self._ctx.contributed(KNOWN_NETWORK, name)

    def analyzer(self, service: str) -> Analyzer | None:
        self.analyzers.add(service)
        found = self._ctx.fact(DESTINATION, service)
        return Analyzer(*found) if found else None

    def is_joined(self, other: str) -> bool:
        """Whether this network is connected with one at the other end of a service chain: both let chains of several
        policies lie between them, and none of these ends with a service that translates addresses."""
        enabled = bool(self._view.multi_policy_service_chains_enabled)
        allowed = enabled and self._ctx.contributed(MULTI_POLICY_NETWORK, other)
        return allowed and not are_separated(self.network, other, self._ctx)

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
