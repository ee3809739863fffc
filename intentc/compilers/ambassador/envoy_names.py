"""Maps Envoy's names in statistics, logs and admin pages back to elements.

A statistic is recognized by its beginning (``cluster.NAME.upstream_rq_5xx``); in Prometheus' form names are labels. A
cluster may have another name there (``stats_name``), and several may share one; then all of them match. The beginning
of an element's name suffices, unless it is the whole name of another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from intentc import Compiled, Naming

LISTENER, VIRTUAL_HOST, ROUTE = "envoy_listener", "envoy_virtual_host", "envoy_route"
CLUSTER, SECRET = "envoy_cluster", "envoy_secret"
KINDS = (LISTENER, VIRTUAL_HOST, ROUTE, CLUSTER, SECRET)
"""Endpoints have the name of their cluster, which is meant."""

_ROOTS = {
    "envoy_cluster_name": "cluster",
    "envoy_http_conn_manager_prefix": "http",
    "envoy_tcp_prefix": "tcp",
    "envoy_listener_address": "listener",
    "envoy_virtual_host": "vhost",
    "envoy_route": "route",
    "envoy_xds_resource_name": "sds",
}
"""A label in Prometheus' form → how the same statistic begins in Envoy's own form."""
_LABEL = re.compile(r'(envoy_\w+)="([^"]*)"')

Found = tuple[str, str]


def elements_called(text: str, compiled: Compiled) -> Iterator[Found]:
    """Yields (kind, name) of the elements that ``text`` may mean.

    ``text``: the name of an element, a statistic, or a name on another page of Envoy.
    """
    text = text.strip()
    labels = [(_ROOTS[label], value) for label, value in _LABEL.findall(text) if label in _ROOTS]
    for root, value in labels:
        yield from _statistic(root, value, compiled)
    if labels:
        return
    # In the pages for clusters and listeners the name ends at a double colon.
    name = text.partition("::")[0]
    root, _, rest = name.partition(".")
    found: dict[Found, None] = {}
    if root in _ROOTS.values() and rest:
        found |= dict.fromkeys(_statistic(root, rest, compiled))
    found |= dict.fromkeys((kind, name) for kind in KINDS if compiled.named(kind, name) is not None)
    found |= dict.fromkeys(_of_route_configuration(name, compiled))
    found |= dict.fromkeys(_by_content(name, compiled))
    yield from found or (_beginning(name, KINDS, compiled) if name else ())


def _statistic(root: str, rest: str, compiled: Compiled) -> Iterator[Found]:
    """The elements that the statistic ``root.rest`` belongs to; ``rest`` begins with their name there."""
    match root:
        case "cluster":
            for name in _beginnings(rest):
                if compiled.named(CLUSTER, name) is not None:
                    yield CLUSTER, name
                    return
            named = [
                (CLUSTER, _name(cluster))
                for cluster in compiled.objects(CLUSTER)
                if _begins(rest, cluster["config"].get("alt_stat_name", ""))
            ]
            yield from named or _beginning(rest.partition(".")[0], (CLUSTER,), compiled)
        case "listener":
            for listener in compiled.objects(LISTENER):
                if _begins(rest, _address(listener)):
                    yield LISTENER, _name(listener)
        case "http" | "tcp":
            for listener in compiled.objects(LISTENER):
                if any(_begins(rest, prefix) for prefix in _prefixes(listener)):
                    yield LISTENER, _name(listener)
        case "vhost":
            yield from _of_virtual_host(rest, compiled)
        case "route":
            yield from _routes(rest, compiled)
        case "sds":
            yield from ((SECRET, _name(secret)) for secret in compiled.objects(SECRET) if _begins(rest, _name(secret)))


def _beginning(name: str, kinds: tuple[str, ...], compiled: Compiled) -> Iterator[Found]:
    """The elements whose names begin with ``name``: names end with digits of a hash, which get lost where names are
    shortened."""
    for kind in kinds:
        for element in compiled.objects(kind):
            if _name(element).startswith(name):
                yield kind, _name(element)


def _of_virtual_host(rest: str, compiled: Compiled) -> Iterator[Found]:
    """``DOMAIN.route.PREFIX.…`` belongs to routes, everything else to the virtual host."""
    _, routed, prefix = rest.partition(".route.")
    found = list(_routes(prefix, compiled)) if routed else []
    if found:
        yield from found
        return
    for host in compiled.objects(VIRTUAL_HOST):
        if _begins(rest, host["domain"]):
            yield VIRTUAL_HOST, _name(host)


def _routes(prefix: str, compiled: Compiled) -> Iterator[Found]:
    for route in compiled.objects(ROUTE):
        if _begins(prefix, route["config"].get("stat_prefix", "")):
            yield ROUTE, _name(route)


def _of_route_configuration(name: str, compiled: Compiled) -> Iterator[Found]:
    """``namespace/name|side``: the Listener that requests this route configuration, and what it serves."""
    path, side, _ = name.partition("|")
    if side and compiled.named(LISTENER, path) is not None:
        yield LISTENER, path
    for host in compiled.objects(VIRTUAL_HOST):
        if host["route_configuration"] == name:
            yield VIRTUAL_HOST, _name(host)


def _by_content(name: str, compiled: Compiled) -> Iterator[Found]:
    """Finds elements by a text other than their name: a domain, a name in statistics, an address."""
    for host in compiled.objects(VIRTUAL_HOST):
        if host["domain"] == name:
            yield VIRTUAL_HOST, _name(host)
    for cluster in compiled.objects(CLUSTER):
        if cluster["config"].get("alt_stat_name") == name:
            yield CLUSTER, _name(cluster)
    for route in compiled.objects(ROUTE):
        if route["config"].get("stat_prefix") == name:
            yield ROUTE, _name(route)
    for listener in compiled.objects(LISTENER):
        if name in _prefixes(listener) or _spelled(name) == _spelled(_address(listener)):
            yield LISTENER, _name(listener)


def _prefixes(listener: Mapping[str, Any]) -> set[str]:
    """The names of statistics of a listener's connection managers and TCP proxies."""
    found: set[str] = set()
    waiting: list[Any] = [listener["config"], listener.get("shared_filters")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            if isinstance(prefix := value.get("stat_prefix"), str):
                found.add(prefix)
        elif isinstance(value, list):
            waiting += value
    return found


def _address(listener: Mapping[str, Any]) -> str:
    """As Envoy writes it."""
    socket = listener["config"]["address"]["socket_address"]
    address = socket["address"]
    return f"[{address}]:{socket['port_value']}" if ":" in address else f"{address}:{socket['port_value']}"


def _beginnings(text: str) -> Iterator[str]:
    """``text`` up to each of its dots, the longest first."""
    while text:
        yield text
        text = text.rpartition(".")[0]


def _begins(rest: str, name: str) -> bool:
    """Whether a statistic's ``rest`` begins with ``name`` as statistics spell it."""
    spelled = _spelled(name)
    return bool(spelled) and f"{_spelled(rest)}.".startswith(f"{spelled}.")


def _spelled(name: str) -> str:
    """``name`` as statistics spell it: without colons, which would end a name there."""
    return name.replace(":", "_")


def _name(element: Mapping[str, Any]) -> str:
    return ":".join(element["fq_name"])


ENVOY = Naming(KINDS, elements_called)
