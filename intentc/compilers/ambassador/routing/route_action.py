"""What a route does with requests, and what a Mapping contributes to the group that makes the route: typed values.

``mapping_action.py`` makes them from Mappings, ``sharing.py`` joins those of a group, and ``envoy/route.py`` converts
them to Envoy's JSON. Other sources of routes (an Ingress, the Module's probes) contribute a ``GroupMember``, too::

    yield Fact("mapping_group", group_name(member.match), member)

Members divide requests or connections by weights in percent (docs/ambassador.md §4.4). The proportions are whole
numbers that sum to the whole, so no request is lost where weights sum to less than 100 (§5.4, §5.5).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..settings.traffic import Cors, HeaderAddition, LabelAction, LoadBalancer, RetryPolicy
from ..upstreams.upstream import Upstream
from .route_match import RouteMatch

WHOLE = 100


def over_the_whole(weights: Sequence[int | None]) -> frozenset[int]:
    """The positions of members that would raise the sum above 100; later ones may still fit.

    >>> sorted(over_the_whole([60, 50, 40, None, 1]))
    [1, 4]
    """
    over: set[int] = set()
    left = WHOLE
    for position, weight in enumerate(weights):
        if weight is not None and weight > left:
            over.add(position)
        elif weight is not None:
            left -= weight
    return frozenset(over)


def proportions(weights: Sequence[int | None]) -> tuple[int, ...]:
    """The shares of members with these ``weights`` (None: not set), whose sum is at most 100.

    Members without a weight share equally what the others leave. If all have one, their sum is the whole; if that is
    zero, all share equally. A single member gets everything.

    >>> proportions([80, 20]), proportions([20, 30]), proportions([10, None, None]), proportions([0])
    ((80, 20), (20, 30), (20, 90, 90), (1,))
    """
    unset = sum(weight is None for weight in weights)
    if not unset and not any(weights):
        return (1,) * len(weights)
    left = WHOLE - sum(weight or 0 for weight in weights)
    return tuple(left if weight is None else weight * max(unset, 1) for weight in weights)


class RegexRewrite(msgspec.Struct, frozen=True):
    pattern: str
    substitution: str


class HeaderChanges(msgspec.Struct, frozen=True):
    add_request: tuple[HeaderAddition, ...] = ()
    add_response: tuple[HeaderAddition, ...] = ()
    remove_request: tuple[str, ...] = ()
    remove_response: tuple[str, ...] = ()


class Core(msgspec.Struct, frozen=True):
    """What the first Mapping of a group sets for all: authorization, rate limits, and session affinity. ``hash_on``: a
    balancer that hashes, or None."""

    bypass_auth: bool = False
    auth_context_extensions: tuple[tuple[str, str], ...] = ()
    rate_limits: tuple[tuple[LabelAction, ...], ...] = ()
    hash_on: LoadBalancer | None = None


class Treatment(msgspec.Struct, frozen=True):
    """What Envoy decides per route, and not per cluster. ``prefix_rewrite``: empty for none. ``timeout_ms``: 0 for
    none; ``idle_timeout_ms``: None for the listener's value. ``upgrades``: protocols such as ``websocket``."""

    prefix_rewrite: str = ""
    regex_rewrite: RegexRewrite | None = None
    auto_host_rewrite: bool = False
    timeout_ms: int = 3000
    idle_timeout_ms: int | None = None
    priority: str = ""
    retry_policy: RetryPolicy | None = None
    cors: Cors | None = None
    upgrades: tuple[str, ...] = ()


class Share(msgspec.Struct, frozen=True):
    """Where a part of the requests goes, and what Envoy decides per cluster. Equal shares of a group are one."""

    upstream: Upstream
    headers: HeaderChanges = HeaderChanges()
    host_rewrite: str = ""


class Forward(msgspec.Struct, frozen=True):
    share: Share
    core: Core = Core()
    treatment: Treatment = Treatment()


class Redirect(msgspec.Struct, frozen=True):
    """``host``: the target; at most one of ``path``, ``prefix`` and ``regex`` changes the path."""

    host: str
    scheme: str = ""
    port: int = 0
    path: str = ""
    prefix: str = ""
    regex: RegexRewrite | None = None
    response_code: int = 301
    core: Core = Core()
    cors: Cors | None = None
    headers: HeaderChanges = HeaderChanges()


class GroupMember(msgspec.Struct, frozen=True, kw_only=True):
    """What one resource (``kind``, ``name`` as ``namespace:name``) contributes to its group.

    ``action``: None if it can't be done; then the other members answer its requests, and without any they are
    rejected, and go nowhere else. ``trouble``: why it can't be done, (reason, message), which the group reports on the
    resource. ``weight``: percent, None if not set. ``shadow``: it gets copies of requests. ``fields``: the fields of
    match and action; ``again``: fields that repeat the match, which take effect if the first is deleted.
    """

    kind: str
    name: str
    match: RouteMatch
    action: Forward | Redirect | None
    trouble: tuple[str, str] | None = None
    weight: int | None = None
    shadow: bool = False
    stats_name: str = ""
    fields: tuple[str, str] = ("prefix", "service")
    again: tuple[str, ...] = ()
