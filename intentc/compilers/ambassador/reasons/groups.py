"""Finds the members of a group, and the Hosts, that are needed for one of its routes or for one of its upstreams.

Groups are those of Mappings and those of TCPMappings.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from intentc import Context, Source

from ..elements import Reasons, Sources
from ..grouping import add_uses, clusters_in, routes_of, shared_routes
from ..hosts.host_binding import HostBinding
from ..routing.route_action import GroupMember
from ..routing.route_match import route_name
from ..routing.tcp_routing import TCPMember, divided
from ..upstreams.upstream import ClusterUse
from .sufficient import sufficient


def members_of(ctx: Context, group: str) -> list[GroupMember]:
    """The members of a group of Mappings, sorted as its intent sorts them."""
    contributed = (value for _, value in ctx.contributions("mapping_group", group))
    return sorted(contributed, key=lambda member: (member.name, member.kind))


def route(ctx: Context, members: list[GroupMember], name: str) -> Reasons:
    """Why the route ``name`` exists: the members that match, and the Hosts that select them.

    Or Hosts whose wildcards cross theirs. The name follows from the tables, so another selection makes another route.
    """
    written = [one for member in members for one in _written(member)]
    for some in sufficient(written, lambda some: name in _routes(some)):
        yield (*(_place(member, 0) for member in some), *_selecting(some, name), *_crossed(ctx, some, name))


def leading_along(members: list[GroupMember], name: str, cluster: str) -> Reasons:
    """Why the route ``name`` leads to an upstream."""

    def leads(some: list[GroupMember]) -> bool:
        found = _routes(_able(members, some)).get(name)
        return found is not None and cluster in clusters_in(found[0])

    for some in sufficient(members, leads):
        yield tuple(_place(member, 1) for member in some)


def leading_to(members: list[GroupMember], cluster: str) -> Reasons:
    """Why a group leads to an upstream: the member that names it, and the members that let it take part."""
    if len(members) == 1:
        # The usual case; an upstream may be that of ten thousand groups.
        yield (_place(members[0], 1),)
        return
    for some in sufficient(members, lambda some: cluster in _uses(_able(members, some))):
        yield tuple(_place(member, 1) for member in some)


def tcp_members_of(ctx: Context, group: str) -> list[TCPMember]:
    """The members of a group of TCPMappings, sorted as its intent sorts them."""
    return sorted((value for _, value in ctx.contributions("tcp_mapping_group", group)), key=lambda one: one.name)


def tcp_leading_to(members: list[TCPMember], cluster: str) -> Reasons:
    """Why a group of TCPMappings leads to an upstream."""
    for some in sufficient(members, lambda some: cluster in divided(some)[0]):
        yield tuple(Source("tcp_mapping", member.name, "service") for member in some)


def _written(member: GroupMember) -> Iterator[GroupMember]:
    """The member, once for each place where it is written."""
    yield member
    for field in member.again:
        yield msgspec.structs.replace(member, fields=(field, ""))


def _place(member: GroupMember, which: int) -> Source:
    return Source(member.kind, member.name, member.fields[which])


def _routes(members: list[GroupMember]) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """Route → (v3 JSON, its tables)."""
    return {
        config["name"]: (config, match.tables)
        for match, found in shared_routes(members)
        for config in routes_of(route_name(match), match, found)
    }


def _able(members: list[GroupMember], some: list[GroupMember]) -> list[GroupMember]:
    """``members``, of which only ``some`` name a usable service: the others keep their match."""
    kept = set(map(id, some))
    return [one if id(one) in kept else msgspec.structs.replace(one, action=None) for one in members]


def _selecting(members: tuple[GroupMember, ...], name: str) -> Sources:
    scopes = (table.partition("|")[0] for table in _routes(list(members))[name][1])
    return tuple(Source("host", scope) for scope in dict.fromkeys(scopes) if scope)


def _crossed(ctx: Context, members: tuple[GroupMember, ...], name: str) -> Sources:
    """For each table that follows from a Host's wildcard (``hosts/crossing_wildcards.py``), the first such Host."""
    if not members[0].match.authority_asked:
        return ()
    found: list[Source] = []
    for table in _routes(list(members))[name][1]:
        scope, _, hostname = table.partition("|")
        bindings: set[HostBinding] = {one for _, one in ctx.contributions("hostname", hostname)}
        there = sorted((one.kind, one.name) for one in bindings if one.scope == scope and one.name)
        found += [Source(*one) for one in there[:1] if Source(*one) not in found]
    return tuple(found)


def _uses(members: list[GroupMember]) -> dict[str, ClusterUse]:
    found: dict[str, ClusterUse] = {}
    for _, sharing in shared_routes(members):
        add_uses(found, sharing)
    return found
