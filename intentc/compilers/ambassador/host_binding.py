"""What a Host means, as a typed value, whatever Listeners and Mappings exist; and Hosts with crossing wildcards.

The value is the fact ``hostname``, named after its hostname, where all Hosts of one hostname meet. ``hostname.py``
decides what it means on a Listener. An Ingress may mean a Host, too, and a fallback Host is no resource.

Both ``*.example.com`` and ``a.example.*`` cover ``a.example.com``, neither covers the other. Envoy chooses one domain
per request, so a route for ``a.example.*`` misses requests that the Host ``*.example.com`` takes. Such a route is added
to the Host's table as well, with a condition on the name. Hosts with a wildcard announce themselves in the fact
``crossing_wildcard``; routes for a wildcard read those of the opposite end (docs/ambassador.md §6.6).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from intentc import Context, Fact, Source
from intentc.model.hostname_patterns import ANY

from .routing.route_action import GroupMember, group_name
from .tls_context import TLSSettings

HOSTS = "any"
"""The name of the fact ``host_binding`` that says whether any Host exists."""


class HostBinding(msgspec.Struct, frozen=True, order=True):
    """A Host, or a resource that means one. ``name``: namespace:name; ``kind``: the kind of the resource (an Ingress
    may mean a Host, too); ``labels``: ``key=value`` each, for the selectors of Listeners. ``scope``: the name, if the
    Host's selector chooses its Mappings, otherwise empty. ``insecure``: ``Redirect``, ``Route`` or ``Reject``.

    ``wants_tls``: TLS was asked for; then ``tls`` is None if it can't be used, and nobody is admitted by TLS.
    ``guarded``: clients are asked for certificates, or may be, since the settings can't be read. ``port``: a further
    port for insecure requests, 0 for none. ``fallback_for``: empty, or the namespace of the Listeners for which it is
    the fallback Host; then it has no name.
    """

    name: str
    hostname: str
    labels: tuple[str, ...] = ()
    scope: str = ""
    insecure: str = "Redirect"
    wants_tls: bool = False
    tls: TLSSettings | None = None
    guarded: bool = False
    port: int = 0
    kind: str = "host"
    fallback_for: str = ""

    @property
    def namespace(self) -> str:
        return self.name.partition(":")[0]

    @property
    def origins(self) -> tuple[Source, ...]:
        """The resource; nothing for a fallback Host."""
        return (Source(self.kind, self.name),) if self.name else ()


def hosts_named(ctx: Context, hostname: str) -> list[HostBinding]:
    """All that mean a Host of this hostname, by name."""
    return sorted({binding for _, binding in ctx.contributions("hostname", hostname)}, key=lambda one: one.name)


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
