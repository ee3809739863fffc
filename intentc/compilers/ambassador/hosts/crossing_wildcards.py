"""Wildcards at opposite ends: both ``*.example.com`` and ``a.example.*`` cover ``a.example.com``, neither covers the
other.

Envoy chooses one domain per request, so a route for ``a.example.*`` misses requests that the Host ``*.example.com``
takes. Such a route is added to the Host's table as well, with a condition on the name. Hosts with a wildcard announce
themselves in the fact ``crossing_wildcard``; routes for a wildcard read those of the opposite end (docs/ambassador.md
§6.6).

It reads through ``ctx``, and returns facts.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from intentc import Context, Fact

from ..routing.hostnames import ANY
from ..routing.route_action import GroupMember
from ..routing.route_match import group_name

_START, _END = "start", "end"


def wildcard_host(scope: str, hostname: str) -> Iterator[Fact]:
    """Announces that a Host with a wildcard serves the table ``scope|hostname``; nothing for other host names."""
    end = _wildcard_at(hostname)
    if end:
        yield Fact("crossing_wildcard", end, f"{scope}|{hostname}")


def crossing_members(ctx: Context, member: GroupMember) -> Iterator[Fact]:
    """The share of ``member`` in the tables of Hosts whose wildcard is at the opposite end, if some name fits both.

    In these tables the name is a condition of the route.
    """
    match = member.match
    end = "" if match.authority_regex else _wildcard_at(match.authority)
    if not end:
        return
    scopes = {table.partition("|")[0] for table in match.tables}
    found = {table for _, table in ctx.contributions("crossing_wildcard", _END if end == _START else _START)}
    tables = tuple(sorted(table for table in found if table.partition("|")[0] in scopes))
    if not tables:
        return
    crossing = msgspec.structs.replace(match, tables=tables, authority_asked=True)
    # Its own group reports its trouble.
    yield Fact("mapping_group", group_name(crossing), msgspec.structs.replace(member, match=crossing, trouble=None))
    for table in match.tables:
        # A Host serves it, but none that covers all of its names.
        if any(table.partition("|")[0] == served.partition("|")[0] for served in tables):
            yield Fact("table_served", table, "")


def _wildcard_at(pattern: str) -> str:
    if pattern == ANY or ANY not in pattern:
        return ""
    return _START if pattern.startswith(ANY) else _END
