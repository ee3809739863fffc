"""Routes in their places: tables, virtual hosts and route configurations, as ordered lists of encoded parts.

A route stands in tables ``scope|host name``. A virtual host (one domain of a route configuration) has the routes of all
tables whose scope it has and whose host name covers its domain, highest sort key first, behind its own ``head``.
Virtual hosts of one route configuration that are equal but for their domain become one with several.

Why it exists: one changed route must cost a place in a list and a concatenation, at ten thousand routes too. Virtual
hosts that see the same tables share one list (``Sequence``). Pure: what is put in is what is in force; deciding that is
left to ``world``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from . import wire
from .domains import covering, covers
from .encoding import Version
from .kinds import Type

_RouteName = tuple[str, str]
"""Sort key and name of a route: its place, and unique."""
_NAME, _DOMAINS = 1, 2
_VIRTUAL_HOSTS = 2
_IGNORE_PORT = wire.flag(14)
"""``ignore_port_in_host_matching``: who names a port is meant by the same Host as who names none, and must not come
past its redirect to a wider one."""


class Sequence:
    """The routes of some tables in their order; ``users``: the virtual hosts that have them."""

    def __init__(self) -> None:
        self.users: set[str] = set()
        self._places: list[_RouteName] = []
        self._bodies: list[bytes] = []

    def fill(self, routes: dict[_RouteName, bytes]) -> None:
        """Begin with these routes."""
        self._places = sorted(routes)
        self._bodies = [routes[place] for place in self._places]

    def put(self, place: _RouteName, body: bytes) -> None:
        """A new route, or another body for one that is there."""
        position = bisect_left(self._places, place)
        if position < len(self._places) and self._places[position] == place:
            self._bodies[position] = body
        else:
            self._places.insert(position, place)
            self._bodies.insert(position, body)

    def remove(self, place: _RouteName) -> None:
        """Take a route out; nothing if it isn't there."""
        position = bisect_left(self._places, place)
        if position < len(self._places) and self._places[position] == place:
            del self._places[position], self._bodies[position]

    def bodies(self) -> list[bytes]:
        """All routes as fields of a virtual host, highest sort key first."""
        return self._bodies[::-1]


class Assembly:
    """The route configurations, from the virtual hosts and routes in force."""

    def __init__(self) -> None:
        self.dirty: set[str] = set()
        """Route configurations that are not as they were when ``assemble`` was called last."""
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
        """``version`` of the route ``name`` is in force from now on; None: there is none any more."""
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
        """As ``put_route``, for the virtual host ``name``."""
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
        """The route configuration as an Any; without a virtual host, if there is none."""
        merged: dict[tuple[tuple[str, ...], bytes, bytes], list[Version]] = {}
        hosts = self._of_configuration.get(configuration, {})
        for name, host in sorted(hosts.items()):
            merged.setdefault((self._tables_of[name], host.head, host.body), []).append(host)
        parts = [wire.text(_NAME, configuration), _IGNORE_PORT]
        for (tables, head, body), equal in merged.items():
            domains = [host.element.domain for host in equal]
            own = [wire.text(_NAME, domains[0]), *(wire.text(_DOMAINS, domain) for domain in domains), body, head]
            parts += wire.wrapped(_VIRTUAL_HOSTS, [*own, *self._sequences[tables].bodies()])
        self.dirty.discard(configuration)
        return wire.any_message(Type.ROUTES, parts)

    def configurations_with(self, route: Version) -> set[str]:
        """The route configurations in which a route in force stands."""
        groups = {tables for table in route.element.tables for tables in self._with_table.get(table, ())}
        hosts = {host for tables in groups for host in self._sequences[tables].users}
        return {self._hosts[host].element.route_configuration for host in hosts}

    def _hosts_at(self, table: str) -> Iterator[str]:
        """The virtual hosts that see a table."""
        scope, _, pattern = table.partition("|")
        if "*" not in pattern:
            yield from self._by_place[scope, pattern]
        else:
            yield from (name for name in self._by_scope[scope] if covers(pattern, self._hosts[name].element.domain))

    def _regroup(self, name: str) -> None:
        """Give a virtual host the list of the tables that there are for it now."""
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
