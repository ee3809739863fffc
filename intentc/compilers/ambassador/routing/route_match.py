"""What a route matches, as a value: the identity of a group of Mappings and its place among the routes.

Mappings with the same match belong to one group, whose name is a function of the match alone. ``mapping.py``
reads the match of a Mapping; ``envoy/route.py`` converts it to Envoy's JSON.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

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
    start = _UNREADABLE.sub("-", f"{match.method}-{match.path}").strip("-")[:_READABLE].strip("-")
    return f"{start or 'root'}-{hashlib.sha256(_identity(match)).hexdigest()[:32]}"


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


def _identity(match: RouteMatch) -> bytes:
    return "".join([f"{len(part.encode())}:{part}" for part in _parts(match)]).encode()


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
