"""All Mappings that match the same are one route in each table that they stand in: this makes those routes, and asks
for their clusters and tables.

Who shares in a route is decided in ``sharing.py``, how it looks in ``envoy/route.py``. Problems go to the Mappings; a
route goes nowhere rather than elsewhere: if nobody can be served, its requests are answered 503.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from intentc import Claim, Context, Fact, Intent

from .elements import Origin, element
from .envoy.route import PARTS, forwarding_route, redirecting_route, refusing_route
from .routing.route_action import Forward, GroupMember
from .routing.route_match import RouteMatch, route_name, sort_key
from .routing.sharing import Sharing, sharing
from .upstreams.upstream import ClusterUse


class MappingGroupIntent(Intent):
    kind = "mapping_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        contributed = (value for _, value in ctx.contributions(self.kind, self.uuid))
        members: list[GroupMember] = sorted(contributed, key=lambda member: (member.name, member.kind))
        self._tell_unserved(ctx, members)
        uses: dict[str, ClusterUse] = {}
        for match, sharers in _routed_alike(members):
            found = sharing(sharers)
            for refusal in found.refusals:
                ctx.problem_on(refusal.member.kind, refusal.member.name, refusal.reason, refusal.message)
            yield from self._elements(ctx, match, found)
            _add_uses(uses, found)
        for name, use in uses.items():
            yield Fact("cluster", name, use)

    def _elements(self, ctx: Context, match: RouteMatch, found: Sharing) -> Iterator[Claim | Fact]:
        name = route_name(match)
        routes = list(_routes(name, match, found))
        origins = [Origin(member.kind, member.name, member.fields[0]) for member in found.members]
        for position, config in enumerate(routes):
            yield element(
                self,
                ctx,
                "envoy_route",
                (config["name"],),
                config,
                origins,
                tables=list(match.tables),
                # Those of one name stand together, in their order.
                sort_key=f"{sort_key(match, name)}\t{len(routes) - position:04d}",
                clusters=sorted(_clusters(config)),
            )
        if routes:
            for table in match.tables:
                yield Fact("routing_table", table, "")

    @staticmethod
    def _tell_unserved(ctx: Context, members: list[GroupMember]) -> None:
        for member in members:
            tables = member.match.tables
            if not any(ctx.contributed("table_served", table) for table in tables):
                hostnames = ", ".join(sorted({table.partition("|")[2] for table in tables}))
                message = f"no Host serves {hostnames}; make one, or change the hostname"
                ctx.problem_on(member.kind, member.name, "NoHost", message)


def _routed_alike(members: list[GroupMember]) -> Iterator[tuple[RouteMatch, list[GroupMember]]]:
    """(match with its tables, who shares in them): tables where the same members meet have one route. Mostly that is
    all of them; but a Host may select one of two Mappings that share elsewhere."""
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


def _routes(name: str, match: RouteMatch, found: Sharing) -> Iterator[dict[str, Any]]:
    leading = found.leading
    if leading is None:
        if found.members:
            yield refusing_route(name, match)
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
        # Envoy compares one random number with every route's fraction, so these are running totals.
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


def _clusters(config: dict[str, Any]) -> set[str]:
    """The names of the clusters that a route leads to."""
    action = config.get("route", {})
    named = {action["cluster"]} if "cluster" in action else set()
    named |= {cluster["name"] for cluster in action.get("weighted_clusters", {}).get("clusters", ())}
    return named | {mirror["cluster"] for mirror in action.get("request_mirror_policies", ())}


def _add_uses(uses: dict[str, ClusterUse], found: Sharing) -> None:
    """The upstreams that a route leads to, each with those who asked for it."""
    for member in found.members:
        if isinstance(member.action, Forward) and found.leading is not None:
            upstream = member.action.share.upstream
            name = upstream.name
            before = uses[name].origins if name in uses else ()
            origin = Origin(member.kind, member.name, member.fields[1])
            uses[name] = ClusterUse(upstream, tuple(sorted({*before, origin})))
