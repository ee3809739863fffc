"""Explains the parts of a route: the members that lead to each cluster, and the member that sets the treatment.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from intentc import Context, View

from ..elements import PartReasons
from ..routing.route_action import Forward, GroupMember, Treatment
from ..routing.sharing import Sharing
from .groups import leading_along
from .settings import Setting, setting_from

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
    view = _view(ctx, member)
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


def _view(ctx: Context, member: GroupMember) -> View | None:
    namespace, _, name = member.name.partition(":")
    return ctx.find("mapping", (namespace, name)) if member.kind == "mapping" else None
