"""Assembles route configurations from encoded routes and virtual hosts.

A route belongs to tables ``scope|host name``. A virtual host (one domain of a route configuration) has its own first
routes (``head``), then the routes of all tables whose scope it has and whose host name covers its domain, highest sort
key first. Virtual hosts of one route configuration that differ only in their domain become one with several domains.

A changed route costs one list insertion and a concatenation, also among ten thousand routes: virtual hosts with the
same tables share one list (``Sequence``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from intentc.model import protobuf
from intentc.model.hostname_patterns import covering, covers

from .elements import Type
from .encoding import Version

_RouteName = tuple[str, str]
"""Sort key and name of a route: its unique position."""
_NAME, _DOMAINS = 1, 2
_VIRTUAL_HOSTS = 2
_IGNORE_PORT = protobuf.flag(14)
"""``ignore_port_in_host_matching``: a request with a port in its Host matches the same virtual host as one without.

Otherwise it would bypass that host's redirect and match a wider one.
"""


class Sequence:
    """The ordered routes of some tables; ``users``: the virtual hosts that have them."""

    def __init__(self) -> None:
        self.users: set[str] = set()
        self._places: list[_RouteName] = []
        self._bodies: list[bytes] = []

    def fill(self, routes: dict[_RouteName, bytes]) -> None:
        """Replace the content with these routes."""
        self._places = sorted(routes)
        self._bodies = [routes[place] for place in self._places]

    def put(self, place: _RouteName, body: bytes) -> None:
        """Add a route, or replace the body of an existing one."""
        position = bisect_left(self._places, place)
        if position < len(self._places) and self._places[position] == place:
            self._bodies[position] = body
        else:
            self._places.insert(position, place)
            self._bodies.insert(position, body)

    def remove(self, place: _RouteName) -> None:
        """Remove a route, if it exists."""
        position = bisect_left(self._places, place)
        if position < len(self._places) and self._places[position] == place:
            del self._places[position], self._bodies[position]

    def bodies(self) -> list[bytes]:
        """All routes as fields of a virtual host, highest sort key first."""
        return self._bodies[::-1]


class Assembly:
    """Assembles the route configurations from the virtual hosts and routes in force."""

    def __init__(self) -> None:
        self.dirty: set[str] = set()
        """Route configurations that have changed since the last call of ``assemble``."""
        self._routes: dict[str, Version] = {}
        self._hosts: dict[str, Version] = {}
        self._in_table: defaultdict[str, dict[str, Version]] = defaultdict(dict)
        self._sequences: dict[tuple[str, ...], Sequence] = {}
        self._with_table: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        self._tables_of: dict[str, tuple[str, ...]] = {}
        self._of_configuration: defaultdict[str, dict[str, Version]] = defaultdict(dict)
        self._by_place: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._by_scope: defaultdict[str, set[str]] = defaultdict(set)

    @property
    def configurations(self) -> set[str]:
        """The names of the route configurations that have a virtual host."""
        return {name for name, hosts in self._of_configuration.items() if hosts}

    def put_route(self, name: str, version: Version | None) -> None:
        """Put ``version`` of the route ``name`` in force; None removes the route."""
        before = self._routes.pop(name, None)
        if version is not None:
            self._routes[name] = version
        old, new = _tables(before), _tables(version)
        regroup: set[str] = set()
        for table in {*old, *new}:
            routes, there = self._in_table[table], len(self._in_table[table])
            if version is not None and table in new:
                routes[name] = version
            else:
                routes.pop(name, None)
            if not routes:
                del self._in_table[table]
            if bool(there) != bool(routes):
                regroup.update(self._hosts_at(table))
        for host in regroup:
            self._regroup(host)
        for tables in {tables for table in {*old, *new} for tables in self._with_table.get(table, ())}:
            sequence = self._sequences[tables]
            stays = version is not None and _meet(tables, new)
            if before is not None and not (stays and version is not None and _place(before) == _place(version)):
                sequence.remove(_place(before))
            if stays and version is not None:
                sequence.put(_place(version), version.body)
            self._touch(sequence.users)

    def put_virtual_host(self, name: str, version: Version | None) -> None:
        """Put ``version`` of the virtual host ``name`` in force; None removes it."""
        before = self._hosts.pop(name, None)
        if before is not None:
            element = before.element
            self.dirty.add(element.route_configuration)
            del self._of_configuration[element.route_configuration][name]
            for scope in element.scopes:
                self._by_place[scope, element.domain].discard(name)
                self._by_scope[scope].discard(name)
            self._leave(name)
        if version is not None:
            element = version.element
            self.dirty.add(element.route_configuration)
            self._hosts[name] = version
            self._of_configuration[element.route_configuration][name] = version
            for scope in element.scopes:
                self._by_place[scope, element.domain].add(name)
                self._by_scope[scope].add(name)
            self._regroup(name)

    def assemble(self, configuration: str) -> bytes:
        """Encode a route configuration as an Any; it may have no virtual host."""
        merged: dict[tuple[tuple[str, ...], bytes, bytes], list[Version]] = {}
        hosts = self._of_configuration.get(configuration, {})
        for name, host in sorted(hosts.items()):
            merged.setdefault((self._tables_of[name], host.head, host.body), []).append(host)
        parts = [protobuf.text(_NAME, configuration), _IGNORE_PORT]
        for (tables, head, body), equal in merged.items():
            domains = [host.element.domain for host in equal]
            own = [
                protobuf.text(_NAME, domains[0]),
                *(protobuf.text(_DOMAINS, domain) for domain in domains),
                body,
                head,
            ]
            parts += protobuf.wrapped(_VIRTUAL_HOSTS, [*own, *self._sequences[tables].bodies()])
        self.dirty.discard(configuration)
        return protobuf.any_message(Type.ROUTES, parts)

    def configurations_with(self, route: Version) -> set[str]:
        """The route configurations that contain a route in force."""
        groups = {tables for table in route.element.tables for tables in self._with_table.get(table, ())}
        hosts = {host for tables in groups for host in self._sequences[tables].users}
        return {self._hosts[host].element.route_configuration for host in hosts}

    def _hosts_at(self, table: str) -> Iterator[str]:
        """The virtual hosts that include a table."""
        scope, _, pattern = table.partition("|")
        if "*" not in pattern:
            yield from self._by_place[scope, pattern]
        else:
            yield from (name for name in self._by_scope[scope] if covers(pattern, self._hosts[name].element.domain))

    def _regroup(self, name: str) -> None:
        """Attach a virtual host to the sequence of the tables that exist for it now."""
        element = self._hosts[name].element
        seen = (f"{scope}|{pattern}" for pattern in covering(element.domain) for scope in element.scopes)
        tables = tuple(sorted({table for table in seen if table in self._in_table}))
        if self._tables_of.get(name) == tables:
            return
        self._leave(name)
        self._tables_of[name] = tables
        sequence = self._sequences.get(tables)
        if sequence is None:
            sequence = self._sequences[tables] = Sequence()
            for table in tables:
                self._with_table[table].add(tables)
            sequence.fill({_place(route): route.body for table in tables for route in self._in_table[table].values()})
        sequence.users.add(name)
        self.dirty.add(element.route_configuration)

    def _leave(self, name: str) -> None:
        tables = self._tables_of.pop(name, None)
        if tables is not None:
            sequence = self._sequences[tables]
            sequence.users.discard(name)
            if not sequence.users:
                del self._sequences[tables]
                for table in tables:
                    self._with_table[table].discard(tables)
                    if not self._with_table[table]:
                        del self._with_table[table]

    def _touch(self, hosts: set[str]) -> None:
        self.dirty.update(self._hosts[host].element.route_configuration for host in hosts)


def _tables(version: Version | None) -> tuple[str, ...]:
    return version.element.tables if version is not None else ()


def _place(version: Version) -> _RouteName:
    return version.element.sort_key, version.element.name


def _meet(tables: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return any(table in others for table in tables)
