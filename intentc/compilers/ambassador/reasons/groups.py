"""Finds the members of a group, and the Hosts, that are needed for one of its routes or for one of its upstreams.

Groups are those of Mappings and those of TCPMappings. The parts of a route follow from the members that lead to each
cluster, and from the member that sets the treatment; a setting follows from the resource that asks for the element, or
from the Module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from intentc import Context, Source, View

from ..envoy_elements import PartReasons, Reasons, Sources
from ..grouping import add_uses, clusters_in, routes_of, shared_routes
from ..host_binding import hosts_named
from ..routing.route_action import Forward, GroupMember, Treatment, route_name
from ..routing.sharing import Sharing
from ..routing.tcp_routing import TCPMember, divided
from ..settings.module_settings import MODULE_NAME, ModuleSettings, module_settings
from ..upstreams.upstream import ClusterUse

T = TypeVar("T")

_MOST_TRIED_TOGETHER = 10
"""The most candidates of which all combinations are tried; of more, pairs."""


def sufficient(candidates: Sequence[T], brings_about: Callable[[list[T]], bool]) -> Iterator[tuple[T, ...]]:
    """The smallest sets of ``candidates`` of which ``brings_about`` is true, the smallest first, each in the order of
    the candidates. All of them together, if no smaller set is found.

    >>> list(sufficient([1, 2, 3], lambda some: sum(some) >= 3))
    [(3,), (1, 2)]
    """
    alone = {position for position, one in enumerate(candidates) if brings_about([one])}
    yield from ((candidates[position],) for position in sorted(alone))
    rest = [position for position in range(len(candidates)) if position not in alone]
    found: list[set[int]] = []
    most = len(rest) if len(rest) <= _MOST_TRIED_TOGETHER else 2
    for size in range(2, most + 1):
        for chosen in combinations(rest, size):
            if not any(smaller <= set(chosen) for smaller in found):
                some = [candidates[position] for position in chosen]
                if brings_about(some):
                    found.append(set(chosen))
                    yield tuple(some)
    if not alone and not found:
        yield tuple(candidates)


_UNSAID = (None, -1, "/")
"""Values of unset fields that are not empty: of numbers, and of a rewrite."""


class Setting(NamedTuple):
    """``part``: its place in an element. ``attribute``: its name in the typed value. ``field``: its field in the
    resource. ``key``: its key in the Module's ``config``, and ``of_module`` in the Module's typed value; both empty if
    it has none."""

    part: str
    attribute: str
    field: str
    key: str = ""
    of_module: str = ""


def setting_from(ctx: Context, asking: View | None, setting: Setting, value: Any, default: Any) -> Reasons:
    """Why ``setting`` has ``value`` for ``asking``. ``default``: the value if no resource sets it."""
    says = asking is not None and _says(asking, setting.field)
    by_module, unsaid = default, default
    if setting.key:
        read = attrgetter(setting.of_module or setting.key)
        by_module, unsaid = read(module_settings(ctx)), read(ModuleSettings())
    module_says = by_module != unsaid
    if says and asking is not None and (value != by_module or module_says):
        yield (Source.of(asking, setting.field),)
    if module_says and value == by_module:
        for contributor, _ in ctx.contributions("module_settings", MODULE_NAME):
            module = ctx.get(contributor.kind, contributor.uuid)
            if module is not None:
                yield (Source.of(module, f"config.{setting.key}"),)


def _says(asking: View, field: str) -> bool:
    value = getattr(asking, field, None)
    if isinstance(value, int) and not isinstance(value, bool):
        return value not in _UNSAID
    return bool(value) and value not in _UNSAID


def route(ctx: Context, members: list[GroupMember], name: str) -> Reasons:
    """Why the route ``name`` exists: the members that match, and the Hosts that select them.

    Or Hosts whose wildcards cross theirs. The name follows from the tables, so another selection makes another route.
    """
    written = [one for member in members for one in _written(member)]
    for some in sufficient(written, lambda some: name in _routes(some)):
        tables = _routes(list(some))[name][1]
        scopes = dict.fromkeys(table.partition("|")[0] for table in tables)
        selecting = (Source("host", scope) for scope in scopes if scope)
        crossed = _crossed(ctx, tables) if some[0].match.authority_asked else ()
        yield (*(_place(member, 0) for member in some), *selecting, *crossed)


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


def _crossed(ctx: Context, tables: tuple[str, ...]) -> Sources:
    """For each table that follows from a Host's wildcard (``host_binding.py``), the first such Host."""
    found: list[Source] = []
    for table in tables:
        scope, _, hostname = table.partition("|")
        hosts = hosts_named(ctx, hostname)
        there = sorted((one.kind, one.name) for one in hosts if one.scope == scope and one.name)
        found += [Source(*one) for one in there[:1] if Source(*one) not in found]
    return tuple(found)


def _uses(members: list[GroupMember]) -> dict[str, ClusterUse]:
    found: dict[str, ClusterUse] = {}
    for _, sharing in shared_routes(members):
        add_uses(found, sharing)
    return found


_TREATMENT = (
    Setting("config.route.timeout", "timeout_ms", "timeout_ms", "cluster_request_timeout_ms"),
    Setting("config.route.idle_timeout", "idle_timeout_ms", "idle_timeout_ms"),
    Setting("config.route.prefix_rewrite", "prefix_rewrite", "rewrite"),
    Setting("config.route.regex_rewrite", "regex_rewrite", "regex_rewrite"),
    Setting("config.route.auto_host_rewrite", "auto_host_rewrite", "auto_host_rewrite"),
    Setting("config.route.priority", "priority", "priority"),
    Setting("config.route.retry_policy", "retry_policy", "retry_policy", "retry_policy"),
)
_STATISTICS = Setting("config.stat_prefix", "stats_name", "stats_name", "defaults", "defaults.stats_name")
_DEFAULTS = {"prefix_rewrite": "/"}
"""Defaults of Mappings that differ from those of the typed value."""


def route_parts(
    ctx: Context, members: list[GroupMember], found: Sharing, config: dict[str, Any], position: int
) -> PartReasons:
    """The reasons for parts of the route at ``position`` among those that ``found`` makes of a group's ``members``."""
    name = config["name"]
    for part, cluster in _clusters(config):
        for sources in leading_along(members, name, cluster):
            yield part, sources
    said = _said_by(found, position)
    if said is None:
        return
    member, treatment = said
    view = ctx.find("mapping", tuple(member.name.split(":", 1))) if member.kind == "mapping" else None
    for setting in _TREATMENT:
        if setting.part.rpartition(".")[2] in config.get("route", {}):
            default = _DEFAULTS.get(setting.attribute, getattr(Treatment(), setting.attribute))
            for sources in setting_from(ctx, view, setting, getattr(treatment, setting.attribute), default):
                yield setting.part, sources
    if "stat_prefix" in config and member == found.leading:
        for sources in setting_from(ctx, view, _STATISTICS, member.stats_name, ""):
            yield _STATISTICS.part, sources


def _clusters(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (part, cluster) for each place where a route names a cluster."""
    route = config.get("route", {})
    if "cluster" in route:
        yield "config.route.cluster", route["cluster"]
    for position, one in enumerate(route.get("weighted_clusters", {}).get("clusters", ())):
        yield f"config.route.weighted_clusters.clusters[{position}]", one["name"]
    for position, one in enumerate(route.get("request_mirror_policies", ())):
        yield f"config.route.request_mirror_policies[{position}]", one["cluster"]


def _said_by(found: Sharing, position: int) -> tuple[GroupMember, Treatment] | None:
    """The member that sets the treatment of requests on the route at ``position``; None if several or none do."""
    forwarding = [(one, one.action) for one in found.members if isinstance(one.action, Forward) and not one.shadow]
    if len({action.treatment for _, action in forwarding}) == 1:
        # A member with another treatment would have a route of its own: the first of them keeps this one.
        member, action = forwarding[0]
        return member, action.treatment
    part = found.parts[position] if position < len(found.parts) else None
    saying = [
        one
        for one, action in forwarding
        if part is not None and (action.share, action.treatment) == (part.share, part.treatment)
    ]
    return (saying[0], part.treatment) if part is not None and len(saying) == 1 else None
