"""Converts one rule of a network policy to rules of an access control list, for one network (docs/contrail.md D.4.3).

A rule of a policy has lists of addresses and ports on both sides; a rule of a list has one of each. What it must know
of the world it asks ``NetworkSurroundings`` (``network_acl.py``). A rule with
``apply_service`` yields the service chain that it asks for, a rule with an analyzer the analyzer; ``network_rules.py``
collects both. What is at fault in a rule is left out here without a report: the policy's own intent reports it once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .protocols import acl_protocol
from .service_chain_names import ServiceChain

if TYPE_CHECKING:
    from .network_acl import NetworkSurroundings

ANY, LOCAL = "any", "local"
"""In place of a network: every network; the network that attaches the policy."""

PASS, DENY = "pass", "deny"

Membership = tuple[str, str]
"""(network, policy): the network attaches the policy."""


class Address(NamedTuple):
    """One side of a rule. ``place``: where it stands in the policy's rule; ``memberships``: the attachments through
    which a policy in place of a network led to ``network``."""

    network: str = ""
    policy: str = ""
    subnet: Any = None
    subnet_list: tuple[Any, ...] = ()
    place: str = ""
    memberships: tuple[Membership, ...] = ()

    @property
    def subnets(self) -> tuple[Any, ...]:
        return (self.subnet, *self.subnet_list) if self.subnet else self.subnet_list

    def entry(self) -> dict[str, Any]:
        """The address as the list has it."""
        found: dict[str, Any] = {"virtual_network": self.network}
        if self.subnet:
            found["subnet"] = self.subnet
        if self.subnet_list:
            found["subnet_list"] = self.subnet_list
        return found


class Analyzer(NamedTuple):
    """Where a service instance receives mirrored traffic: the network of its interface, and its address ("" while
    there is none)."""

    network: str
    address: str


class ListRule(NamedTuple):
    """One rule of an access control list. ``action``: a struct or a dict. ``chain``: the service chain that the rule
    asks for; ``analyzer``: the analyzer that it mirrors to."""

    rule_uuid: str
    direction: str
    protocol: str
    source: Address
    source_port: Any
    destination: Address
    destination_port: Any
    action: Any
    simple_action: str
    analyzer_name: str = ""
    chain: ServiceChain | None = None
    analyzer: Analyzer | None = None

    def entry(self) -> dict[str, Any]:
        """The rule as the list has it."""
        return {
            "rule_uuid": self.rule_uuid,
            "direction": self.direction,
            "match_condition": {
                "protocol": self.protocol,
                "src_address": self.source.entry(),
                "src_port": self.source_port,
                "dst_address": self.destination.entry(),
                "dst_port": self.destination_port,
            },
            "action_list": self.action,
        }


class _Pair(NamedTuple):
    """A source and a destination to which a rule applies, with the service chain between them, if any."""

    source: Address
    destination: Address
    chain: ServiceChain | None = None


def list_rules(rule: Any, surroundings: NetworkSurroundings) -> Iterator[ListRule]:
    """The rules into which a policy's ``rule`` is converted: by pair of addresses, then by source port, destination
    port, source and destination."""
    if not rule.action_list:
        return
    try:
        protocol = acl_protocol(rule.protocol, rule.ethertype)
    except ValueError:
        return
    mirror = rule.action_list.mirror_to
    for source, destination in _applying(rule, surroundings):
        analyzer = None
        if mirror.analyzer_name and (_is_me(source, surroundings) or _is_me(destination, surroundings)):
            analyzer = surroundings.analyzer(mirror.analyzer_name)
        if rule.action_list.apply_service:
            pairs = list(_served(rule, protocol, source, destination, surroundings))
        else:
            destinations = _expanded(destination, surroundings)
            pairs = [_Pair(one, other) for one in _expanded(source, surroundings) for other in destinations]
        for source_port in rule.src_ports:
            for destination_port in rule.dst_ports:
                for pair in pairs:
                    yield ListRule(
                        rule.rule_uuid,
                        rule.direction,
                        protocol,
                        pair.source,
                        source_port,
                        pair.destination,
                        destination_port,
                        _action(rule.action_list, pair.chain, analyzer, surroundings.network),
                        rule.action_list.simple_action,
                        mirror.analyzer_name,
                        pair.chain,
                        analyzer,
                    )


def _applying(rule: Any, surroundings: NetworkSurroundings) -> Iterator[tuple[Address, Address]]:
    """The pairs of addresses to which the rule applies for this network, ``local`` replaced by the network."""
    sources = _addresses(rule.src_addresses, "src_addresses", surroundings)
    destinations = _addresses(rule.dst_addresses, "dst_addresses", surroundings)
    for source in sources:
        for destination in destinations:
            if _is_me(source, surroundings) or _is_me(destination, surroundings):
                yield source, destination
            elif destination.policy and not destination.network:
                if surroundings.attaches(destination.policy):
                    yield source, _member(destination, surroundings)
            elif source.policy and not source.network:
                if surroundings.attaches(source.policy):
                    yield _member(source, surroundings), destination
            elif not (source.network or destination.network or rule.action_list.apply_service) and (
                source.subnets and destination.subnets
            ):
                # Services lie between networks, and subnets alone name none.
                yield source, destination


def _addresses(given: Sequence[Any], side: str, surroundings: NetworkSurroundings) -> list[Address]:
    """The addresses of one side. A security group has no meaning in a policy, and without it the address would match
    too much, so it is left out."""
    return [
        Address(
            surroundings.network if address.virtual_network == LOCAL else address.virtual_network,
            address.network_policy,
            address.subnet,
            address.subnet_list,
            f"{side}[{place}]",
        )
        for place, address in enumerate(given)
        if not address.security_group
    ]


def _is_me(address: Address, surroundings: NetworkSurroundings) -> bool:
    return address.network in (surroundings.network, ANY)


def _member(address: Address, surroundings: NetworkSurroundings) -> Address:
    """This network, which attaches the policy that ``address`` names."""
    me = surroundings.network
    return address._replace(network=me, policy="", memberships=((me, address.policy),))


def _expanded(address: Address, surroundings: NetworkSurroundings) -> list[Address]:
    """One address for each network of the policy that ``address`` names; others as they are."""
    if not address.policy:
        return [address]
    policy, place = address.policy, address.place
    return [
        Address(network, place=place, memberships=((network, policy),))
        for network in surroundings.networks_of_policy(policy)
    ]


def _served(
    rule: Any, protocol: str, source: Address, destination: Address, surroundings: NetworkSurroundings
) -> Iterator[_Pair]:
    """The pairs of this network and each far one between which the rule applies services (docs/contrail.md D.4.3)."""
    me = surroundings.network
    is_near_left = _is_near_left(source, destination, me)
    near, far = (source, destination) if is_near_left else (destination, source)
    if far.network == ANY:
        near, remotes = near._replace(network=me), surroundings.networks_of_project()
    else:
        remotes = (far.network,)
    for remote in remotes:
        if remote in ("", me) or not surroundings.is_network(remote):
            continue
        chain = ServiceChain(
            me if is_near_left else remote,
            remote if is_near_left else me,
            rule.direction,
            tuple((ports.start_port, ports.end_port) for ports in rule.src_ports),
            tuple((ports.start_port, ports.end_port) for ports in rule.dst_ports),
            protocol,
            tuple(rule.action_list.apply_service),
        )
        opposite = far._replace(network=remote, policy="")
        yield _Pair(near, opposite, chain) if is_near_left else _Pair(opposite, near, chain)


def _is_near_left(source: Address, destination: Address, me: str) -> bool:
    """Whether this network is the source of a rule with services. Its own name counts before ``any``, the destination
    before the source."""
    if me in (source.network, destination.network):
        return destination.network != me
    return destination.network != ANY


def _action(action: Any, chain: ServiceChain | None, analyzer: Analyzer | None, network: str) -> Any:
    """The action of a converted rule: a service makes it pass through the edge of its chain; users name no instance."""
    changes: dict[str, Any] = {}
    edge = chain.edge(network) if chain is not None else ""
    if action.assign_routing_instance != edge:
        changes["assign_routing_instance"] = edge
    if chain is not None and action.simple_action != DENY:
        changes |= {"simple_action": PASS, "apply_service": ()}
    if analyzer is not None and analyzer.address:
        changes["mirror_to"] = msgspec.structs.replace(action.mirror_to, analyzer_ip_address=analyzer.address)
    return msgspec.structs.replace(action, **changes) if changes else action
