"""What routes match and do, as values, and what a Mapping contributes to the group that makes the route.

Mappings with the same match belong to one group, whose name is a function of the match alone, as is its place among the
routes. ``mapping.py`` and ``mapping_action.py`` read Mappings, ``sharing.py`` joins those of a group, and
``envoy/route.py`` converts them to Envoy's JSON. Other sources of routes (an Ingress, the Module's probes) contribute a
``GroupMember``, too::

    yield Fact("mapping_group", group_name(member.match), member)

Members divide requests or connections by weights in percent (docs/ambassador.md §4.4). The proportions are whole
numbers that sum to the whole, so no request is lost where weights sum to less than 100 (§5.4, §5.5).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import msgspec

from ..settings.traffic import Cors, HeaderAddition, LabelAction, LoadBalancer, RetryPolicy
from ..upstreams.upstream import Upstream

EXACT, REGEX, PRESENT, PREFIX, SEGMENTS = "exact", "regex", "present", "prefix", "segments"

_READABLE = 40
_UNREADABLE = re.compile(r"[^0-9A-Za-z]+")
_RANKS = {EXACT: "2", PREFIX: "1", SEGMENTS: "1", REGEX: "0"}


class Condition(msgspec.Struct, frozen=True, order=True):
    """A condition on a header or query parameter. ``sort``: ``exact``, ``regex`` (whole value) or ``present``."""

    name: str
    sort: str = PRESENT
    value: str = ""

    def length(self) -> int:
        """Its weight in the order of routes (docs/ambassador.md §4.4): name and value, one more for a regex."""
        return len(self.name) + len(self.value or "*") + (self.sort == REGEX)

    def key(self) -> str:
        return f"{self.name}-{self.value or '*'}"


class RouteMatch(msgspec.Struct, frozen=True):
    """The match. ``tables``: its route tables (``scope|hostname``), sorted. ``path_sort``: ``prefix``, ``exact``,
    ``regex``, or ``segments`` (the path itself and the paths below it). ``authority``: the hostname, ``*`` for all;
    with ``authority_regex`` a regex, with ``authority_asked`` a wildcard that is also a condition of the route.
    ``method``: empty for any. ``headers`` and ``query``: sorted."""

    tables: tuple[str, ...]
    path: str
    path_sort: str = PREFIX
    case_sensitive: bool = True
    authority: str = ""
    authority_regex: bool = False
    method: str = ""
    method_regex: bool = False
    headers: tuple[Condition, ...] = ()
    query: tuple[Condition, ...] = ()
    precedence: int = 0
    authority_asked: bool = False


def group_name(match: RouteMatch) -> str:
    """The name of the group of all with the same match, whatever their tables."""
    return route_name(msgspec.structs.replace(match, tables=()))


def route_name(match: RouteMatch) -> str:
    """The name of the route with this match in these tables: a readable start and a hash of the match.

    Different matches have different names whatever they contain: every text is hashed with its length
    (docs/ambassador.md §5.8).
    """
    identity = "".join([f"{len(part.encode())}:{part}" for part in _parts(match)])
    start = _UNREADABLE.sub("-", f"{match.method}-{match.path}").strip("-")[:_READABLE].strip("-")
    return f"{start or 'root'}-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def sort_key(match: RouteMatch, name: str) -> str:
    """The sort key of the route ``name``; routes are in descending order.

    Precedence, length of the prefix, of the headers, of the query, then reverse alphabetical (docs/ambassador.md §4.4).
    An exact path sorts before a prefix of the same text, which would hide it; the name is last, so that no two are
    equal.
    """
    headers = list(match.headers)
    if match.authority:
        headers.append(Condition(":authority", REGEX if match.authority_regex else EXACT, match.authority))
    if match.method:
        headers.append(Condition(":method", REGEX if match.method_regex else EXACT, match.method))
    parts = [
        _number(match.precedence),
        _number(len(match.path)),
        _number(sum(header.length() for header in headers)),
        _number(sum(parameter.length() for parameter in match.query)),
        match.path,
        match.method or "GET",
        *(header.key() for header in headers),
        *(parameter.key() for parameter in match.query),
        _RANKS[match.path_sort] + str(int(match.case_sensitive)),
        name,
    ]
    return "\t".join(parts)


def _number(value: int) -> str:
    """A text form that sorts like the number; numbers beyond 10**9 are clamped."""
    return f"{max(-(10**9), min(value, 10**9)) + 10**9:010d}"


def _parts(match: RouteMatch) -> list[str]:
    parts: list[str] = []
    values = msgspec.structs.astuple(match)
    for value in values if match.authority_asked else values[:-1]:
        if not isinstance(value, tuple):
            parts.append(str(value))
            continue
        parts.append(str(len(value)))
        for item in value:
            parts += (item,) if isinstance(item, str) else (item.name, item.sort, item.value)
    return parts


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
