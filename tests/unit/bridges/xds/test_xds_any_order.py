"""Whatever changes in whatever order: no Envoy ever has a route to a cluster that it lacks, one bad element never keeps
a good one out, and in the end every Envoy has exactly what is good."""

from __future__ import annotations

import json
import random
from collections import deque
from typing import Any

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_pb2
from google.protobuf import any_pb2

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.session import Request, Response, Session
from tests.unit.bridges.xds.served_world import CONFIGURATION, ServedWorld, cluster, route, virtual_host

NAMES = ("a", "b", "c", "d")
BAD_TIMEOUT = 9
BAD_PREFIX = "/bad"


class Envoy:
    """Takes one message after the other, and rejects what is bad as Envoy does: clusters by name, a
    route configuration as a whole and without a name."""

    def __init__(self, bench: ServedWorld, *, whole: bool) -> None:
        self.whole = whole
        self.session = Session(bench.world, bench.rejections, whole=whole, clock=lambda: 0.0)
        self.clusters: dict[str, bytes] = {}
        self.routes = route_pb2.RouteConfiguration()
        self.inbox: deque[Response] = deque()
        bench.world.streams.add(self.session)
        self._ask(Type.CLUSTERS)
        self._ask(Type.ROUTES, CONFIGURATION)

    def listen(self) -> bool:
        """Have one more message on the way, if there is one."""
        response = self.session.next()
        if response is not None:
            self.inbox.append(response)
        return response is not None

    def take(self) -> bool:
        """Take and answer the next message, if there is one."""
        if not self.inbox:
            return False
        response = self.inbox.popleft()
        error = self._take_clusters(response) if response.kind is Type.CLUSTERS else self._take_routes(response)
        names = frozenset({CONFIGURATION} if response.kind is Type.ROUTES else ())
        self.session.receive(Request(response.kind, response.nonce, error=error, names=names if self.whole else None))
        return True

    def referred(self) -> set[str]:
        return {one.route.cluster for one in self.routing() if one.HasField("route")}

    def routing(self) -> list[Any]:
        return [one for host in self.routes.virtual_hosts for one in host.routes]

    def answers(self, path: str) -> str:
        """The route that a request for ``path`` gets to."""
        return next((one.name for one in self.routing() if path.startswith(one.match.prefix)), "")

    def _ask(self, kind: Type, *names: str) -> None:
        wanted = Request(kind, names=frozenset(names)) if self.whole else Request(kind, more=names)
        self.session.receive(wanted)

    def _take_clusters(self, response: Response) -> str | None:
        rejected = []
        for resource in response.resources:
            message = cluster_pb2.Cluster()
            any_pb2.Any.FromString(resource.body).Unpack(message)
            if message.connect_timeout.seconds == BAD_TIMEOUT:
                rejected.append(f"{resource.name}: bad")
            else:
                self.clusters[resource.name] = resource.body
        gone = set(self.clusters) - {one.name for one in response.resources} if self.whole else set(response.deleted)
        for name in gone:
            self.clusters.pop(name, None)
        return f"Error adding/updating cluster(s) {', '.join(rejected)}" if rejected else None

    def _take_routes(self, response: Response) -> str | None:
        [resource] = response.resources
        message = route_pb2.RouteConfiguration()
        any_pb2.Any.FromString(resource.body).Unpack(message)
        routes = [one for host in message.virtual_hosts for one in host.routes]
        if any(one.match.prefix == BAD_PREFIX or one.route.prefix_rewrite == BAD_PREFIX for one in routes):
            return "one of them is bad"
        self.routes = message
        return None


def some_element(chance: random.Random, revision: int) -> Version:
    name = chance.choice(NAMES)
    if chance.random() < 0.4:
        seconds = BAD_TIMEOUT if chance.random() < 0.2 else chance.randint(1, 3)
        return cluster(name, revision=revision, connect_timeout=f"{seconds}s")
    match = {"prefix": BAD_PREFIX if chance.random() < 0.2 else f"/{chance.randint(1, 3)}"}
    action = {"cluster": chance.choice(NAMES)} | ({"prefix_rewrite": BAD_PREFIX} if chance.random() < 0.2 else {})
    return route(name, revision=revision, match=match, route=action)


def is_bad(version: Version) -> bool:
    return BAD_PREFIX.encode() in version.config or f'"{BAD_TIMEOUT}s"'.encode() in version.config


@pytest.mark.parametrize("seed", range(300))
def test_no_route_without_its_cluster_and_in_the_end_all_that_is_good(seed: int) -> None:
    chance = random.Random(seed)
    bench = ServedWorld()
    world = bench.world
    host = virtual_host("*")
    world.want(host.key, host)
    envoys = [Envoy(bench, whole=chance.random() < 0.5) for _ in range(chance.randint(1, 2))]
    stored: dict[tuple[str, str], Version] = {}
    for step in range(150):
        match chance.randint(0, 3):
            case 0:
                version = some_element(chance, step)
                if chance.random() < 0.25:
                    stored.pop(version.key, None)
                    world.want(version.key, None)
                else:
                    stored[version.key] = version
                    world.want(version.key, version)
            case 1:
                world.publish()
            case 2:
                chance.choice(envoys).listen()
            case 3:
                envoy = chance.choice(envoys)
                envoy.take()
                assert envoy.referred() <= set(envoy.clusters)
    settle(bench, envoys)
    good = {key for key, version in stored.items() if not is_bad(version)}
    rejected = {key for key, one in bench.records.items() if key in stored and one.digest == stored[key].digest}
    assert rejected <= set(stored) - good
    assert set(stored) - good <= rejected | set(world.held)
    for envoy in envoys:
        assert envoy.referred() <= set(envoy.clusters)
        clusters = {name for kind, name in good if kind == "envoy_cluster"}
        assert clusters <= set(envoy.clusters)
        shown = {one.name for one in envoy.routing() if one.HasField("route")}
        never_good = {
            name for kind, name in rejected if kind == "envoy_route" and not bench.records[kind, name].last_good
        }
        for one in envoy.routing():
            if one.name in never_good:
                assert one.direct_response.status == 503
        for name in never_good:
            version = stored["envoy_route", name]
            path = json.loads(version.config)["match"]["prefix"]
            # Whoever answers in its place stands before it.
            assert path == BAD_PREFIX or envoy.answers(path) >= name
        for kind, name in good:
            if kind == "envoy_route" and set(stored[kind, name].clusters) <= clusters:
                assert name in shown
        in_force = {name: one.body for name, one in world.served.resources(Type.CLUSTERS).items()}
        assert envoy.clusters == in_force


def settle(bench: ServedWorld, envoys: list[Envoy]) -> None:
    for _ in range(1_000):
        busy = bench.world.publish()
        for envoy in envoys:
            while envoy.listen() or envoy.take():
                busy = True
        if not busy:
            return
    raise AssertionError("it never comes to rest")
