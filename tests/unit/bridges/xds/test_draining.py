"""Clusters and routes stay for old filter chains until Envoy's drain time is over; time is the test's own."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.draining import ENVOYS_DEFAULT_SECONDS, SILENCE_SECONDS, Draining, StreamProgress
from intentc.bridges.xds.elements import CLUSTER, Element, Type
from intentc.bridges.xds.encoding import Version, encode
from intentc.bridges.xds.rejections import RejectionAnalyzer
from intentc.bridges.xds.session import Request, Session
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from intentc.loading.configuration.sections import Envoy
from tests.unit.bridges.xds.served_world import (
    CONFIGURATION,
    cluster,
    configuration,
    listener,
    route,
    served,
    shown,
    unwant,
    virtual_host,
    want,
)

SECONDS = 600.0


class Now:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


class _Stream:
    peer = "envoy"

    def __init__(self, serial: int = 0) -> None:
        self.serial = serial


def test_the_default_is_the_same_everywhere() -> None:
    """Envoy's own; the live tests ask a real one."""
    assert Envoy().drain_time == ENVOYS_DEFAULT_SECONDS == SECONDS


def changed_world(now: Now) -> SnapshotCache:
    """A listener asked the cluster ``auth``; listener and cluster are changed, and one Envoy has not answered yet."""
    world = SnapshotCache(draining=Draining(SECONDS, now), progress=StreamProgress(now))
    want(world, cluster("auth"), listener("l", refers_to="auth"))
    world.publish()
    world.streams.add(_Stream(world.serial))
    want(world, cluster("other"), listener("l", refers_to="other"))
    unwant(world, cluster("auth"))
    world.publish()
    return world


def answer(world: SnapshotCache) -> None:
    for stream in world.streams:
        assert isinstance(stream, _Stream)
        stream.serial = world.serial
    world.publish()


def test_a_listeners_cluster_stays_for_the_drain_time_after_every_answer() -> None:
    now = Now()
    world = changed_world(now)
    now.seconds += SILENCE_SECONDS - 1
    assert served(world, Type.CLUSTERS) == {"auth", "other"}, "one has not answered"
    assert world.draining.wait() is None
    answer(world)
    assert world.draining.wait() == SECONDS
    now.seconds += SECONDS - 1
    assert served(world, Type.CLUSTERS) == {"auth", "other"}
    assert world.draining.wait() == 1
    now.seconds += 1
    assert served(world, Type.CLUSTERS) == {"other"}
    assert world.draining.wait() is None


def test_a_silent_stream_delays_the_drain_time_for_a_minute() -> None:
    now = Now()
    world = changed_world(now)
    world.streams.add(_Stream(world.serial))
    assert world.draining.wait() is None
    assert world.progress.wait(world.serial) == SILENCE_SECONDS
    now.seconds += SILENCE_SECONDS - 1
    world.publish()
    assert world.draining.wait() is None
    now.seconds += 1
    world.publish()
    assert (world.draining.wait(), world.progress.wait(world.serial)) == (SECONDS, None)
    now.seconds += SECONDS
    assert served(world, Type.CLUSTERS) == {"other"}


def test_a_silent_stream_keeps_a_removed_routes_cluster_for_a_minute() -> None:
    now = Now()
    world = SnapshotCache(draining=Draining(SECONDS, now), progress=StreamProgress(now))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    world.publish()
    world.streams.add(_Stream(world.serial))
    now.seconds += 10 * SECONDS
    unwant(world, route("r"), cluster("c"))
    assert served(world, Type.CLUSTERS) == {"c"}, "it had an hour, but nothing to answer"
    now.seconds += SILENCE_SECONDS
    assert served(world, Type.CLUSTERS) == set()


def test_a_stream_that_answers_slowly_is_waited_for() -> None:
    """Each answer comes late, and changes come faster: it is behind all the time, and moves on."""
    now = Now()
    world = SnapshotCache(draining=Draining(SECONDS, now), progress=StreamProgress(now))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    world.publish()
    stream = _Stream(world.serial)
    world.streams.add(stream)
    for number in range(5):
        want(world, cluster(f"other {number}"))
        world.publish()
        stream.serial = world.serial - 1
        world.publish()
        now.seconds += SILENCE_SECONDS - 1
    unwant(world, route("r"), cluster("c"))
    assert "c" in served(world, Type.CLUSTERS)


def test_a_stream_that_answers_again_is_waited_for_again(caplog: pytest.LogCaptureFixture) -> None:
    now = Now()
    world = changed_world(now)
    now.seconds += SILENCE_SECONDS
    world.publish()
    assert world.progress.silent == 1
    assert caplog.text.count("has not answered for 60 s") == 1
    answer(world)
    assert world.progress.silent == 0
    want(world, listener("l"))
    unwant(world, cluster("other"))
    world.publish()
    now.seconds += SILENCE_SECONDS - 1
    world.publish()
    assert world.progress.wait(world.serial) == 1


def test_what_a_deleted_listener_asked_stays_too() -> None:
    now = Now()
    world = SnapshotCache(draining=Draining(SECONDS, now))
    want(world, cluster("auth"), listener("l", refers_to="auth"))
    world.publish()
    unwant(world, listener("l"), cluster("auth"))
    world.publish()
    assert served(world, Type.CLUSTERS) == {"auth"}
    now.seconds += SECONDS
    assert served(world, Type.CLUSTERS) == set()


def test_a_cluster_that_a_listener_uses_again_drains_for_the_full_time() -> None:
    now = Now()
    world = changed_world(now)
    answer(world)
    want(world, cluster("auth"), listener("l", refers_to="auth"))
    answer(world)
    now.seconds += 2 * SECONDS
    assert served(world, Type.CLUSTERS) == {"auth", "other"}
    want(world, listener("l", refers_to="other"))
    unwant(world, cluster("auth"))
    world.publish()
    answer(world)
    assert world.draining.wait() == SECONDS
    assert served(world, Type.CLUSTERS) == {"auth", "other"}
    now.seconds += SECONDS
    assert served(world, Type.CLUSTERS) == {"other"}


def test_the_clusters_that_a_kept_cluster_joins_stay_with_it() -> None:
    world = SnapshotCache(draining=Draining(SECONDS, Now()))
    kind = "type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig"
    aggregate = {"name": "envoy.clusters.aggregate", "typed_config": {"@type": kind, "clusters": ["a", "b"]}}
    joined = encode(Element(CLUSTER, "joined", 1, {"name": "joined", "cluster_type": aggregate}))
    want(world, cluster("a"), cluster("b"), joined, listener("l", refers_to="joined"))
    world.publish()
    want(world, listener("l", refers_to="a"))
    unwant(world, joined, cluster("b"))
    world.publish()
    assert served(world, Type.CLUSTERS) == {"a", "b", "joined"}


def asking(name: str, routes: str = CONFIGURATION) -> Version:
    """A listener with a connection manager that asks for ``routes``."""
    kind = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
    manager = {"@type": kind, "rds": {"route_config_name": routes}}
    return listener(name, filter_chains=[{"filters": [{"name": "http", "typed_config": manager}]}])


def test_the_routes_of_a_deleted_listener_stay_as_they_were_last() -> None:
    now = Now()
    world = SnapshotCache(draining=Draining(SECONDS, now))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"), asking("l"))
    world.publish()
    before = configuration(world)
    unwant(world, asking("l"), virtual_host("*"))
    world.publish()
    assert configuration(world) == before
    now.seconds += SECONDS
    world.publish()
    assert shown(configuration(world)) == {}


def test_a_restored_listener_has_the_current_routes() -> None:
    world = SnapshotCache(draining=Draining(SECONDS, Now()))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"), asking("l"))
    world.publish()
    unwant(world, asking("l"), virtual_host("*"))
    world.publish()
    want(world, asking("l"))
    world.publish()
    assert shown(configuration(world)) == {}


def test_a_listener_that_loses_its_last_virtual_host_has_no_routes() -> None:
    world = SnapshotCache(draining=Draining(SECONDS, Now()))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"), asking("l"))
    world.publish()
    unwant(world, virtual_host("*"))
    world.publish()
    assert shown(configuration(world)) == {}


def test_a_changed_listener_has_no_routes_sent_anew() -> None:
    world = SnapshotCache(draining=Draining(SECONDS, Now()))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"), asking("l"))
    world.publish()
    seen = world.serial
    want(world, asking("l")._replace(digest="changed"))
    world.publish()
    assert world.served.changed_since(Type.LISTENERS, seen) == ["l"]
    assert world.served.changed_since(Type.ROUTES, seen) == []


def test_a_cluster_of_routes_alone_is_not_kept() -> None:
    world = SnapshotCache(draining=Draining(SECONDS, Now()))
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    world.publish()
    unwant(world, route("r"), cluster("c"))
    world.publish()
    assert served(world, Type.CLUSTERS) == set()


def test_elements_known_from_another_server_are_removed_after_the_drain_time() -> None:
    """A restarted server does not know which listeners there were before."""
    now = Now()
    world = SnapshotCache(draining=Draining(SECONDS, now))
    want(world, cluster("other"))
    world.publish()
    session = Session(world, RejectionAnalyzer(world), whole=False, clock=now)
    world.streams.add(session)
    session.receive(Request(Type.CLUSTERS, known={"auth": "7.before.1"}))
    first = session.next()
    assert first is not None
    assert ([one.name for one in first.resources], list(first.deleted)) == (["other"], [])
    session.receive(Request(Type.CLUSTERS, nonce=first.nonce))
    assert session.next() is None
    world.publish()
    now.seconds += SECONDS
    world.publish()
    later = session.next()
    assert later is not None
    assert (list(later.resources), list(later.deleted)) == ([], ["auth"])
