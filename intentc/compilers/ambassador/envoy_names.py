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
            yield from list(_called(root, rest, compiled)) or _beginning(rest.partition(".")[0], (CLUSTER,), compiled)
        case "vhost":
            # ``DOMAIN.route.PREFIX.…`` belongs to routes, everything else to the virtual host.
            _, _, prefix = rest.partition(".route.")
            yield from list(_called("route", prefix, compiled)) or _called("vhost", rest, compiled)
        case _:
            yield from _called(root, rest, compiled)


def _beginning(name: str, kinds: tuple[str, ...], compiled: Compiled) -> Iterator[Found]:
    """The elements whose names begin with ``name``: names end with digits of a hash, which get lost where names are
    shortened."""
    for kind in kinds:
        for element in compiled.objects(kind):
            if _name(element).startswith(name):
                yield kind, _name(element)


def _called(root: str, rest: str, compiled: Compiled) -> Iterator[Found]:
    """The elements whose names in statistics ``rest`` begins with."""
    for one, kind, name, text in _texts(compiled):
        if one == root and _begins(rest, text):
            yield kind, name


def _texts(compiled: Compiled) -> Iterator[tuple[str, str, str, str]]:
    """Yields (how the statistic begins, kind, name, text in statistics) of elements: a domain, a name that users set
    for statistics, an address. A listener's are those of its connection managers and TCP proxies, too."""
    for host in compiled.objects(VIRTUAL_HOST):
        yield "vhost", VIRTUAL_HOST, _name(host), host["domain"]
    for cluster in compiled.objects(CLUSTER):
        yield "cluster", CLUSTER, _name(cluster), cluster["config"].get("alt_stat_name", "")
    for route in compiled.objects(ROUTE):
        yield "route", ROUTE, _name(route), route["config"].get("stat_prefix", "")
    for listener in compiled.objects(LISTENER):
        yield "listener", LISTENER, _name(listener), _address(listener)
        for prefix in _prefixes(listener):
            yield from ((root, LISTENER, _name(listener), prefix) for root in ("http", "tcp"))
    for secret in compiled.objects(SECRET):
        yield "sds", SECRET, _name(secret), _name(secret)


def _of_route_configuration(name: str, compiled: Compiled) -> Iterator[Found]:
    """``namespace/name|side``: the Listener that requests this route configuration, and what it serves."""
    path, side, _ = name.partition("|")
    if side and compiled.named(LISTENER, path) is not None:
        yield LISTENER, path
    for host in compiled.objects(VIRTUAL_HOST):
        if host["route_configuration"] == name:
            yield VIRTUAL_HOST, _name(host)


def _by_content(name: str, compiled: Compiled) -> Iterator[Found]:
    """Finds elements by a text other than their name."""
    for root, kind, element, text in _texts(compiled):
        if text and (text == name or (root == "listener" and _spelled(text) == _spelled(name))):
            yield kind, element


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
