"""A served world: the state of an xDS server without a store and without streams over gRPC, and elements for it.

Use it for what the server decides; ``handmade_system`` has a whole server, ``gateway_system`` a real Envoy as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envoy.config.route.v3 import route_pb2
from google.protobuf import any_pb2

from intentc.bridges.xds.draining import StreamProgress
from intentc.bridges.xds.elements import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTE,
    SECRET,
    VIRTUAL_HOST,
    Element,
    Key,
    Origin,
    Rejection,
    Type,
)
from intentc.bridges.xds.encoding import Version, encode
from intentc.bridges.xds.rejection_records import rejection_of
from intentc.bridges.xds.rejections import RejectionAnalyzer
from intentc.bridges.xds.session import Request, Response, Session
from intentc.bridges.xds.snapshot_cache import SnapshotCache

CONFIGURATION = "ns/http|cleartext"


def route(
    name: str,
    *,
    tables: tuple[str, ...] = ("|*",),
    sort_key: str = "",
    cluster: str = "c",
    revision: int = 1,
    **config: Any,
) -> Version:
    """A route; its prefix is its name."""
    whole = {"name": name, "match": {"prefix": f"/{name}"}, "route": {"cluster": cluster}} | config
    element = Element(ROUTE, name, revision, whole, (Origin("mapping", f"ns:{name}"),), tables, sort_key or name)
    return encode(element)


def virtual_host(
    domain: str,
    *,
    configuration: str = CONFIGURATION,
    scopes: tuple[str, ...] = ("",),
    head: tuple[dict[str, Any], ...] = (),
    **config: Any,
) -> Version:
    """A virtual host of all Hosts without selector."""
    name = f"{configuration}:{domain}"
    element = Element(
        VIRTUAL_HOST, name, 1, config, route_configuration=configuration, domain=domain, scopes=scopes, head=head
    )
    return encode(element)


def cluster(name: str, *, revision: int = 1, **config: Any) -> Version:
    """A cluster."""
    return encode(Element(CLUSTER, name, revision, {"name": name, "type": "STATIC"} | config))


def eds_cluster(name: str, **config: Any) -> Version:
    """A cluster that asks for endpoints."""
    return cluster(name, **({"type": "EDS"} | config))


def endpoints(name: str, **config: Any) -> Version:
    """Endpoints of a cluster."""
    return encode(Element(ENDPOINTS, name, 1, {"cluster_name": name} | config))


def secret(name: str, **config: Any) -> Version:
    """A secret."""
    return encode(Element(SECRET, name, 1, {"name": name} | config))


def listener(name: str, *, refers_to: str = "", **config: Any) -> Version:
    """A listener; ``refers_to``: a cluster."""
    logs: dict[str, Any] = {
        "name": "als",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig",
            "common_config": {"log_name": "x", "grpc_service": {"envoy_grpc": {"cluster_name": refers_to}}},
        },
    }
    return encode(Element(LISTENER, name, 1, {"name": name, "access_log": [logs] if refers_to else []} | config))


def want(world: SnapshotCache, *versions: Version) -> None:
    """All of them stand in the store now."""
    for version in versions:
        world.want(version.key, version)


def unwant(world: SnapshotCache, *versions: Version) -> None:
    """They are gone from the store."""
    for version in versions:
        world.want(version.key, None)


def configuration(world: SnapshotCache, name: str = CONFIGURATION) -> route_pb2.RouteConfiguration:
    """What is served under a name, as Envoy reads it."""
    resource = world.served.resource(Type.ROUTES, name)
    assert resource is not None
    message = route_pb2.RouteConfiguration()
    assert any_pb2.Any.FromString(resource.body).Unpack(message)
    return message


def shown(message: route_pb2.RouteConfiguration) -> dict[str, list[str]]:
    """Domains of each virtual host, joined by blanks → the names of its routes in their order."""
    return {" ".join(host.domains): [one.name for one in host.routes] for host in message.virtual_hosts}


def served(world: SnapshotCache, kind: Type) -> set[str]:
    """The names of what is served of a type, now that it is published."""
    world.publish()
    return set(world.served.resources(kind))


class ServedWorld:
    """A world with its rejection analyzer, and what was recorded. ``now``: seconds that its clock shows."""

    def __init__(self) -> None:
        self.now = 0.0
        self.world = SnapshotCache("process", progress=StreamProgress(lambda: self.now))
        self.rejections = RejectionAnalyzer(self.world)
        self._records: dict[Key, Rejection] = {}

    @property
    def records(self) -> dict[Key, Rejection]:
        """The rejections that the server would have recorded by now."""
        for key in self.world.unrecorded:
            state = self.world.state(key)
            rejection = rejection_of(state) if state is not None else None
            if rejection is not None:
                self._records[key] = rejection
            elif state is None or state.wanted is state.good:
                self._records.pop(key, None)
        self.world.unrecorded.clear()
        return self._records


class Envoy:
    """A stream, with the Envoy that answers on it. ``whole``: it speaks the dialect of the whole state."""

    def __init__(self, bench: ServedWorld, *, whole: bool = False) -> None:
        self.bench = bench
        self.whole = whole
        self.now = 0.0
        self.session = Session(bench.world, bench.rejections, whole=whole, clock=lambda: self.now)
        bench.world.streams.add(self.session)

    def asks(self, kind: Type, *names: str, version: str = "", known: Mapping[str, str] | None = None) -> None:
        if self.whole:
            self.session.receive(Request(kind, version=version, names=frozenset(names)))
        else:
            self.session.receive(Request(kind, more=names, known=known or {}))

    def receives(self) -> Response | None:
        return self.session.next()

    def answers(self, response: Response | None, error: str | None = None, *names: str) -> None:
        assert response is not None
        wanted = frozenset(names) if self.whole else None
        self.session.receive(Request(response.kind, response.nonce, error=error, names=wanted))

    def accepts_all(self) -> list[tuple[Type, set[str]]]:
        """Receive and accept responses until there are no more; returns what they held."""
        found = []
        while (response := self.receives()) is not None:
            found.append((response.kind, names_in(response)))
            self.answers(response, None, *names_in(response))
        return found


def names_in(response: Response | None) -> set[str]:
    assert response is not None
    return {resource.name for resource in response.resources}


def published(*versions: Version) -> ServedWorld:
    bench = ServedWorld()
    want(bench.world, *versions)
    bench.world.publish()
    return bench


def at(name: str, port: int) -> Version:
    address: dict[str, Any] = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return listener(name, address=address)
