"""Which networks a network's rules connect it to, and which links between routing instances follow (docs/contrail.md
D.3).

Each network decides for itself which networks it *wants* (at the far end of a service chain, also by that network's
setting): that is computed with its lists, and yielded as facts. Two primary routing instances are linked where both
networks want it; each instance claims its own side from the facts, so no network is compiled because another one's
wishes changed. The network of an analyzer wants those that mirror to it in return, whatever it attaches; ports that are
mirrored yield the same facts (docs/contrail.md D.8.7). ``service_chain.py`` links the instances of chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, InvalidInput, View, refer, shared

from .network_rules import NetworkRules, Way, Ways, way_sources
from .policy_rules import ANY, DENY, ListRule

CONNECTED, CONNECTING, OPEN = "connected_network", "connecting_network", "open_network"
"""Facts: by network, those that it wants; by network, those that want it; by project and by network, who wants any."""

UNLINKED = "default-domain:default-project:__link_local__"
"""The network whose routes stay on each machine."""

MAX_LINKS = 1_000
"""Links that one routing instance may have."""


class Wanted(NamedTuple):
    """``networks``: each wanted network → why; ``everyone``: why any network is wanted, empty if none is.
    ``analyzers``: networks of analyzers → why; they want this network in return, without policies of their own."""

    networks: Mapping[str, Ways]
    everyone: Ways
    analyzers: Mapping[str, Ways]


def wanted(me: str, rules: NetworkRules, is_joined: Callable[[str], bool]) -> Wanted:
    """What the rules of network ``me`` want, and from which rules of policies. A covered rule wants nothing by itself,
    but is another reason for what is wanted anyway. ``is_joined``: whether a network at the other end of a service
    chain is wanted as well."""
    partners: dict[str, dict[Way, None]] = {}
    analyzers: dict[str, dict[Way, None]] = {}
    covered: list[tuple[str, Way]] = []
    for in_force, origin in rules.origins:
        way = (me, origin.policy, origin.position)
        if origin.rule.analyzer is not None and origin.rule.analyzer.network != me:
            analyzers.setdefault(origin.rule.analyzer.network, {})[way] = None
        for partner in _partners(me, origin.rule, is_joined):
            if in_force is origin.rule:
                partners.setdefault(partner, {})[way] = None
            else:
                covered.append((partner, way))
    for partner, way in covered:
        if partner in partners:
            partners[partner][way] = None
    for network, ways in analyzers.items():
        partners.setdefault(network, {}).update(ways)
    why = {partner: tuple(ways) for partner, ways in sorted(partners.items())}
    return Wanted(
        {partner: ways for partner, ways in why.items() if partner != ANY},
        why.get(ANY, ()),
        {network: tuple(ways) for network, ways in sorted(analyzers.items())},
    )


def _partners(me: str, rule: ListRule, is_joined: Callable[[str], bool]) -> Iterator[str]:
    """The networks to which one rule connects; ``any`` is one of them."""
    if rule.simple_action == DENY or (rule.chain is None and not rule.simple_action):
        return
    ends = (rule.source.network, rule.destination.network)
    for near, far in (ends[::-1], ends):
        if near in (me, ANY) and far not in ("", me) and (rule.chain is None or is_joined(far)):
            yield far


def connection_facts(me: str, found: Wanted) -> Iterator[Fact]:
    """What routing instances must know of the wishes of network ``me``, and of those of its analyzers' networks."""
    if found.networks or found.everyone:
        yield Fact(CONNECTED, me, tuple(found.networks.items()))
    for partner, ways in found.networks.items():
        yield Fact(CONNECTING, partner, ((me, ways),))
    if found.everyone:
        yield Fact(OPEN, _project(me), (me, found.everyone))
        yield Fact(OPEN, me, (me, found.everyone))
    # The networks of analyzers want network ``me`` in return.
    for analyzer, ways in found.analyzers.items():
        yield Fact(CONNECTED, analyzer, ((me, ways),))
    if found.analyzers:
        yield Fact(CONNECTING, me, tuple(found.analyzers.items()))


def links(instance: View, ctx: Context) -> Iterator[Claim]:
    """The links of a primary routing instance. Both networks want each other, ``any`` included: in place of a name it
    stands for the networks of the project, and for those that want this one by name."""
    me = ":".join(instance.fq_name[:-1])
    wants = _joined(ctx.contributions(CONNECTED, me))
    is_open = tuple(way for _, (_, ways) in ctx.contributions(OPEN, me) for way in ways)
    if not wants and not is_open:
        return
    partners = _joined(ctx.contributions(CONNECTING, me))
    found: dict[str, list[tuple[Ways, Ways]]] = {}
    for partner, ways in wants.items():
        wishes = [partners[partner]] if partner in partners else []
        wishes += [other for _, (_, other) in ctx.contributions(OPEN, partner)]
        found[partner] = [(ways, other) for other in wishes]
    if is_open:
        for _, (partner, ways) in ctx.contributions(OPEN, _project(me)):
            if partner != me:
                found.setdefault(partner, []).append((is_open, ways))
        for partner, ways in partners.items():
            found.setdefault(partner, []).append((is_open, ways))
    linked = sorted(partner for partner, both in found.items() if both and partner != UNLINKED)
    if len(linked) > MAX_LINKS:
        raise InvalidInput(
            f"policies connect its network with {len(linked):,} networks, more than {MAX_LINKS:,}; its links stay as "
            "they are: let a policy name the networks in place of `any`, or divide the project"
        )
    for partner in linked:
        name = partner.split(":")
        claim = refer(instance, shared("routing_instance", (*name, name[-1])))
        if ctx.explaining:
            for own, theirs in found[partner]:
                for one, other in product(own, theirs):
                    ctx.because(claim, *dict.fromkeys((*way_sources(one), *way_sources(other))))
        yield claim


def _joined(contributions: Iterable[tuple[Any, Any]]) -> dict[str, Ways]:
    """Network → why, of all contributions to a fact."""
    found: dict[str, Ways] = {}
    for _, networks in contributions:
        for network, ways in networks:
            found[network] = found.get(network, ()) + ways
    return found


def _project(network: str) -> str:
    return network.rpartition(":")[0]
