"""Encodes an element's v3 JSON as the bytes of its protobuf message, once per version, and finds what it refers to.

Invalid JSON (an unknown field, a wrong type, an unknown extension) is found here, with a message that names the field;
Envoy checks its own constraints. Here are also the names and addresses by which ``snapshot_cache`` orders changes, and
the routes that may stand in for a rejected one. ``model/protobuf`` has the single fields.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
from google.protobuf import json_format

from intentc.model import protobuf

from .elements import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    NAME_FIELD,
    ROUTE,
    SECRET,
    TYPE_OF,
    VIRTUAL_HOST,
    Element,
    Type,
    digest,
)

_MESSAGES = {
    CLUSTER: ("envoy.config.cluster.v3.cluster_pb2", "Cluster"),
    ENDPOINTS: ("envoy.config.endpoint.v3.endpoint_pb2", "ClusterLoadAssignment"),
    LISTENER: ("envoy.config.listener.v3.listener_pb2", "Listener"),
    ROUTE: ("envoy.config.route.v3.route_components_pb2", "Route"),
    SECRET: ("envoy.extensions.transport_sockets.tls.v3.secret_pb2", "Secret"),
    VIRTUAL_HOST: ("envoy.config.route.v3.route_components_pb2", "VirtualHost"),
}
_CLUSTER = "envoy.config.cluster.v3.Cluster"
_CHECKS = "health_checks"
_NAME = "name"
_NAME_NUMBER = 27
"""Of ``envoy.config.core.v3.HealthCheck.name``, as Envoy 1.40 itself declares it."""
_ROUTES_FIELD = 3
"""The field of a virtual host that holds its routes."""
_ASSEMBLED = ("name", "domains", "routes")
"""Fields of a virtual host that ``route_configurations`` fills in."""
_CLUSTER_FIELDS = ("cluster", "cluster_name", "collector_cluster")
_EXTENSIONS = ("envoy.extensions", "envoy.config", "envoy.type", "envoy.service", "envoy.data", "xds", "udpa")
_PATH_ALONE = frozenset(
    {"prefix", "path", "safe_regex", "path_separated_prefix", "connect_matcher", "path_match_policy", "case_sensitive"}
)
"""The fields of a route's match that concern the path."""
_UNAVAILABLE = {"status": 503}


class Unencodable(Exception):
    """A ``config`` is no valid message of its kind; the message names the field."""


class Version(NamedTuple):
    """One encoded version of an element. ``element`` is kept without ``config`` and ``head``, to save memory.

    ``config``: as JSON; ``resource``: Envoy's name for it; ``body``: the message's bytes, in an ``Any`` if Envoy is
    sent it as it is, of a route as a field of its virtual host; ``head``: a virtual host's first routes, as fields;
    ``clusters``: the clusters that it refers to, of an aggregate cluster its members; ``endpoints``: the name under
    which a cluster asks for its endpoints, if it does; ``addresses``: those of a listener; ``route_configurations``:
    those that a listener names; ``is_fallback``: it is offered in place of a rejected version (``fallback_routes``).
    """

    element: Element
    digest: str
    config: bytes
    resource: str
    body: bytes
    head: bytes = b""
    clusters: tuple[str, ...] = ()
    endpoints: str = ""
    addresses: tuple[str, ...] = ()
    route_configurations: tuple[str, ...] = ()
    is_fallback: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name of the element."""
        return self.element.kind, self.element.name

    @property
    def names(self) -> frozenset[tuple[Type, str]]:
        """The clusters and route configurations that a listener names."""
        routes = ((Type.ROUTES, name) for name in self.route_configurations)
        return frozenset((*((Type.CLUSTERS, name) for name in self.clusters), *routes))

    @property
    def known_as(self) -> str:
        """``resource``, or for an invalid message the name in its ``config``."""
        return self.resource or str(msgspec.json.decode(self.config).get(NAME_FIELD.get(self.element.kind, ""), ""))

    def same(self, other: Version) -> bool:
        """Whether Envoy can't distinguish the two."""
        ours, theirs = (
            self.element,
            other.element._replace(revision=self.element.revision, origins=self.element.origins),
        )
        return (self.digest, self.head, ours) == (other.digest, other.head, theirs)


def encode(element: Element) -> Version:
    """Encode ``element``. Raises ``Unencodable``."""
    kind, config = element.kind, element.config
    version = unencoded(element)
    if kind == VIRTUAL_HOST:
        plain = {name: value for name, value in config.items() if name not in _ASSEMBLED}
        routes = (protobuf.field(_ROUTES_FIELD, _message(ROUTE, route)) for route in element.head)
        return version._replace(resource=element.domain, body=_message(kind, plain), head=b"".join(routes))
    message = _message(kind, config)
    name = config.get(NAME_FIELD[kind])
    if not isinstance(name, str) or not name:
        raise Unencodable(f"{NAME_FIELD[kind]} is missing")
    if kind == ROUTE:
        clusters = element.clusters or tuple(sorted(set(referred_clusters(config))))
        return version._replace(resource=name, body=protobuf.field(_ROUTES_FIELD, message), clusters=clusters)
    return version._replace(
        resource=name,
        # Envoy is always sent an Any: wrapped once, here.
        body=protobuf.any_message(TYPE_OF[kind], [message]),
        clusters=_clusters_of(kind, config),
        endpoints=_endpoints_name(config, name) if kind == CLUSTER else "",
        addresses=addresses_of(config) if kind == LISTENER else (),
        route_configurations=tuple(sorted(set(_named_routes(config)))) if kind == LISTENER else (),
    )


def _clusters_of(kind: str, config: dict[str, Any]) -> tuple[str, ...]:
    if kind == LISTENER:
        return tuple(sorted(set(referred_clusters(config))))
    joins = config.get("cluster_type", {}).get("typed_config", {}).get("clusters", []) if kind == CLUSTER else []
    return tuple(sorted(set(joins)))


def addresses_of(config: dict[str, Any]) -> tuple[str, ...]:
    """``PROTOCOL address:port`` of each socket in the v3 JSON of a listener; sockets without a port are left out."""
    additional = config.get("additional_addresses")
    holders = [config, *(additional if isinstance(additional, list) else ())]
    found = []
    for holder in holders:
        address = holder.get("address") if isinstance(holder, dict) else None
        socket = address.get("socket_address") if isinstance(address, dict) else None
        if isinstance(socket, dict) and socket.get("port_value"):
            found.append(f"{socket.get('protocol', 'TCP')} {socket.get('address', '')}:{socket['port_value']}")
    return tuple(found)


def unencoded(element: Element) -> Version:
    """The version of an ``element`` that is no valid message; it is never put in force."""
    return Version(
        element._replace(config={}, head=()), digest(element.config), msgspec.json.encode(element.config), "", b""
    )


def referred_clusters(config: Any) -> Iterator[str]:
    """The names of clusters in a configuration, at any depth."""
    if isinstance(config, dict):
        for name, value in config.items():
            if name in _CLUSTER_FIELDS and isinstance(value, str):
                yield value
            elif name == "weighted_clusters" and isinstance(value, dict):
                yield from (str(one["name"]) for one in _entries(value.get("clusters")) if "name" in one)
                yield from referred_clusters(value)
            else:
                yield from referred_clusters(value)
    elif isinstance(config, list):
        for value in config:
            yield from referred_clusters(value)


def _named_routes(config: Any) -> Iterator[str]:
    """The names of the route configurations that connection managers ask for."""
    if isinstance(config, dict):
        asked = config.get("rds")
        if isinstance(asked, dict):
            yield str(asked.get("route_config_name", ""))
        for value in config.values():
            yield from _named_routes(value)
    elif isinstance(config, list):
        for value in config:
            yield from _named_routes(value)


def _entries(value: Any) -> Iterable[dict[str, Any]]:
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _endpoints_name(config: dict[str, Any], name: str) -> str:
    if config.get("type") != "EDS":
        return ""
    eds = config.get("eds_cluster_config")
    return str(eds.get("service_name") or name) if isinstance(eds, dict) else name


def _message(kind: str, config: dict[str, Any]) -> bytes:
    load_extensions()
    try:
        encoded: bytes = parsed(config, _message_class(kind)()).SerializeToString(deterministic=True)
    except (json_format.ParseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        # After the first line protobuf lists every field of the message.
        raise Unencodable((str(error) or type(error).__name__).partition("\n")[0]) from None
    return encoded


@functools.cache
def _message_class(kind: str) -> Any:
    module, name = _MESSAGES[kind]
    return getattr(importlib.import_module(module), name)


@functools.cache
def load_extensions() -> None:
    """Import every message of the public packages, so that each ``@type`` can be resolved; takes 0.5 s, once."""
    for name in _EXTENSIONS:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if module.name.endswith("_pb2"):
                importlib.import_module(module.name)


def parsed(config: dict[str, Any], message: Any) -> Any:
    """Fill ``message`` from v3 JSON and return it. Raises what ``json_format.ParseDict`` raises.

    Envoy 1.40 knows a field that the public packages of its messages don't know yet: the name of a health check, which
    each needs if a cluster has several. Without a descriptor it can only be written by its number, as an unknown field;
    protobuf keeps it. Once the packages know the field, nothing is changed here.
    """
    checks = config.get(_CHECKS)
    if message.DESCRIPTOR.full_name != _CLUSTER or not isinstance(checks, list) or _known(message):
        return json_format.ParseDict(config, message)
    names = [each.get(_NAME, "") if isinstance(each, dict) else "" for each in checks]
    plain = [_without_name(each) for each in checks]
    json_format.ParseDict({**config, _CHECKS: plain}, message)
    for check, name in zip(message.health_checks, names, strict=True):
        if not isinstance(name, str):
            raise json_format.ParseError(f"{_CHECKS}: {_NAME} {name!r} is no text")
        check.MergeFromString(protobuf.text(_NAME_NUMBER, name))
    return message


def _without_name(check: Any) -> Any:
    return {key: value for key, value in check.items() if key != _NAME} if isinstance(check, dict) else check


def _known(message: Any) -> bool:
    return _NAME in message.DESCRIPTOR.fields_by_name[_CHECKS].message_type.fields_by_name


def fallback_routes(rejected: Version) -> tuple[Version, ...]:
    """The versions that may be in force in place of ``rejected``, best first; empty for elements that are no routes.

    If the route were left out, its requests would match a wider one, to another upstream with other rules. The first
    version answers 503 with the same match. Since Envoy may reject the match itself, the second answers 503 for its
    path alone, without the other conditions.
    """
    if rejected.element.kind != ROUTE:
        return ()
    config = msgspec.json.decode(rejected.config)
    match = config.get("match")
    if not isinstance(match, dict):
        return ()
    bare = {name: value for name, value in match.items() if name in _PATH_ALONE}
    found = []
    for one in (match, bare) if bare != match else (match,):
        version = _unavailable(rejected, one)
        if version is not None:
            found.append(version)
    return tuple(found)


def _unavailable(rejected: Version, match: dict[str, Any]) -> Version | None:
    config = {"name": rejected.resource or rejected.element.name, "match": match, "direct_response": _UNAVAILABLE}
    try:
        version = encode(rejected.element._replace(config=config, clusters=()))
    except Unencodable:
        return None
    return version._replace(is_fallback=True)
