"""Computes the routes of a group from its members, and the upstreams that the routes lead to.

They are separate from the group's intent (``mapping_group.py``), because explanations evaluate them again with fewer
members (``reasons/groups.py``). Groups of TCPMappings are divided in ``routing/tcp_routing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from intentc import Context, Source

from .envoy.route import PARTS, forwarding_route, redirecting_route, rejecting_route
from .routing.route_action import Forward, GroupMember, RouteMatch
from .routing.sharing import Sharing, sharing
from .upstreams.upstream import ClusterUse


def members_of(ctx: Context, group: str) -> list[GroupMember]:
    """The members of a group of Mappings, by name."""
    contributed = (value for _, value in ctx.contributions("mapping_group", group))
    return sorted(contributed, key=lambda member: (member.name, member.kind))


def shared_routes(members: list[GroupMember]) -> Iterator[tuple[RouteMatch, Sharing]]:
    """(match with its tables, how its requests are shared) of ``members``, sorted by name."""
    for match, sharers in _routed_alike(members):
        yield match, sharing(sharers)


def _routed_alike(members: list[GroupMember]) -> Iterator[tuple[RouteMatch, list[GroupMember]]]:
    """Yields (match with its tables, the members that share it): tables with the same members share one route. Usually
    that is all tables, but a Host may select only one of two Mappings that share a route elsewhere."""
    standing: dict[str, list[int]] = {}
    for position, member in enumerate(members):
        for table in member.match.tables:
            standing.setdefault(table, []).append(position)
    tables_of: dict[tuple[int, ...], list[str]] = {}
    for table, positions in sorted(standing.items()):
        tables_of.setdefault(tuple(positions), []).append(table)
    for sharers, tables in tables_of.items():
        match = msgspec.structs.replace(members[sharers[0]].match, tables=tuple(tables))
        yield match, [members[position] for position in sharers]


def routes_of(name: str, match: RouteMatch, found: Sharing) -> Iterator[dict[str, Any]]:
    """The routes (v3 JSON) for ``found``; several if parts with different destinations are treated differently."""
    leading = found.leading
    if leading is None:
        if found.members:
            yield rejecting_route(name, match)
        return
    if found.redirect is not None:
        yield redirecting_route(name, match, found.redirect, stats_name=leading.stats_name)
        return
    mirror = (found.mirror[0].upstream.name, found.mirror[1]) if found.mirror is not None else None
    treatments = {part.treatment for part in found.parts}
    if len(treatments) == 1:
        shares = tuple((part.share, part.weight) for part in found.parts)
        yield forwarding_route(
            name, match, shares, found.core, treatments.pop(), mirror=mirror, stats_name=leading.stats_name
        )
        return
    total, reached = sum(part.weight for part in found.parts), 0
    for position, part in enumerate(found.parts):
        # Envoy compares one random number with the fraction of every route, so these are running totals.
        reached += part.weight
        yield forwarding_route(
            name if position == 0 else f"{name}-{position + 1}",
            match,
            ((part.share, 1),),
            found.core,
            part.treatment,
            mirror=mirror,
            stats_name=leading.stats_name,
            fraction=round(PARTS * reached / total),
        )


def clusters_in(config: dict[str, Any]) -> set[str]:
    """The names of the clusters that a route leads to."""
    action = config.get("route", {})
    named = {action["cluster"]} if "cluster" in action else set()
    named |= {cluster["name"] for cluster in action.get("weighted_clusters", {}).get("clusters", ())}
    return named | {mirror["cluster"] for mirror in action.get("request_mirror_policies", ())}


def add_uses(uses: dict[str, ClusterUse], found: Sharing) -> None:
    """Adds the upstreams that a route leads to, each with the resources that ask for it."""
    for member in found.members:
        if isinstance(member.action, Forward) and found.leading is not None:
            upstream = member.action.share.upstream
            name = upstream.name
            before = uses[name].origins if name in uses else ()
            origin = Source(member.kind, member.name, member.fields[1])
            uses[name] = ClusterUse(upstream, tuple(sorted({*before, origin})))
