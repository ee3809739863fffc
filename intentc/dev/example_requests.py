"""Derives the ports and example requests of Envoy from the elements, for people to try: URL and headers per route.

It is a selection: routes that match a regular expression, query parameters, or a header other than by its exact value
are left out, since one example can't show them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from intentc.bridges.xds.elements import LISTENER, ROUTE, VIRTUAL_HOST, Element
from intentc.model.hostname_patterns import ANY, covering

_LOCAL = "127.0.0.1"
_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104  # what listeners say


class Request(NamedTuple):
    """An example request. ``scheme``: ``http`` or ``https``; ``host``: the host name, empty for any; ``headers``:
    further ones that the route matches."""

    scheme: str
    address: str
    port: int
    host: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def curl(self) -> str:
        """The command that makes this request."""
        words = ["curl", "-s"]
        target = f"{self.address}:{self.port}"
        if self.scheme == "https":
            words.append("-k")
            if self.host:
                words += ["--resolve", f"{self.host}:{self.port}:{self.address}"]
                target = f"{self.host}:{self.port}"
        elif self.host:
            words += ["-H", f"Host: {self.host}"]
        if self.method != "GET":
            words += ["-X", self.method]
        for name, value in self.headers:
            words += ["-H", f"{name}: {value}"]
        return shlex.join([*words, f"{self.scheme}://{target}{self.path}"])


class Port(NamedTuple):
    """The address of a listener; ``name``: the listener's."""

    name: str
    address: str
    port: int


def ports(elements: Iterable[Element]) -> list[Port]:
    """The TCP addresses at which Envoy will listen, in the order of the listeners' names."""
    found = []
    for element in sorted(elements, key=lambda one: one.name):
        place = _at(element.config, "address", "socket_address") if element.kind == LISTENER else {}
        if place and place.get("protocol", "TCP") == "TCP":
            found.append(Port(element.name, str(place.get("address", "")), int(place.get("port_value", 0))))
    return found


def requests(elements: Iterable[Element]) -> list[Request]:
    """Example requests per listener, scheme and virtual host, in the order of the routes; each once."""
    listed = list(elements)
    listeners = {element.name: element for element in listed if element.kind == LISTENER}
    hosts = sorted((element for element in listed if element.kind == VIRTUAL_HOST), key=lambda one: one.domain)
    routes = sorted((element for element in listed if element.kind == ROUTE), key=_sort_key, reverse=True)
    found: dict[Request, None] = {}
    for port in ports(listeners.values()):
        address = _LOCAL if port.address in _EVERYWHERE else port.address
        for scheme, configuration in _served(listeners[port.name].config):
            for host in hosts:
                if host.route_configuration == configuration:
                    tables = {f"{scope}|{pattern}" for scope in host.scopes for pattern in covering(host.domain)}
                    for route in routes:
                        if tables.intersection(route.tables) and (one := _request(route.config)) is not None:
                            asked = one._replace(scheme=scheme, address=address, port=port.port)
                            found.setdefault(asked._replace(host=one.host or _example(host.domain)))
    return list(found)


def _sort_key(route: Element) -> tuple[str, str]:
    return route.sort_key, route.name


def _served(listener: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(scheme, route configuration) of each filter chain for HTTP."""
    for chain in listener.get("filter_chains", ()):
        for one in chain.get("filters", ()):
            configuration = _at(one, "typed_config", "rds").get("route_config_name")
            if configuration:
                yield "https" if "transport_socket" in chain else "http", configuration


def _request(route: Mapping[str, Any]) -> Request | None:
    """A request that one route matches; None if no example can be given."""
    match = route.get("match", {})
    path = match.get("path") or match.get("prefix") or match.get("path_separated_prefix")
    if not path or match.get("query_parameters"):
        return None
    request = Request("", "", 0, "", "GET", str(path))
    for condition in match.get("headers", ()):
        name, value = condition["name"], _at(condition, "string_match").get("exact")
        if value is None or condition.get("invert_match"):
            return None
        if name == ":authority":
            request = request._replace(host=value)
        elif name == ":method":
            request = request._replace(method=value)
        else:
            request = request._replace(headers=(*request.headers, (name, value)))
    return request


def _example(domain: str) -> str:
    """A host name that the pattern ``domain`` covers; empty for any host."""
    return "" if domain == ANY else domain.replace(ANY, "any")


def _at(value: Any, *path: str) -> dict[str, Any]:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
