"""A rejection opens nothing: no wider route, no listener without its guards, no bypass of what was in force."""

from __future__ import annotations

from typing import Any

import msgspec

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.rejection_records import record_value
from intentc.bridges.xds.watch_consumer import WatchConsumer
from intentc.model.events import Change, Snapshot
from tests.unit.bridges.xds.served_world import (
    Envoy,
    ServedWorld,
    cluster,
    configuration,
    listener,
    route,
    served,
    virtual_host,
    want,
)

NO = "something is wrong"
LISTENER_REJECTED = "Error adding/updating listener(s) ns/a: no script"


def reject(bench: ServedWorld, kind: Type = Type.ROUTES, message: str = NO) -> None:
    bench.world.publish()
    bench.rejections.on_rejection(kind, None, bench.world.trial(kind, None), message)
    bench.world.publish()


def accept(bench: ServedWorld, kind: Type = Type.ROUTES) -> None:
    bench.world.publish()
    bench.world.acknowledged(kind, bench.world.trial(kind, None))


def with_routes(*routes: Version) -> ServedWorld:
    bench = ServedWorld()
    want(bench.world, cluster("c"), virtual_host("*"))
    accept(bench)
    want(bench.world, *routes)
    return bench


def guarded(*guards: str, **config: Any) -> Version:
    version = listener("ns/a", **config)
    return version._replace(element=version.element._replace(guards=guards))


def rejected_anew(good: Version, bad: Version) -> ServedWorld:
    bench = ServedWorld()
    want(bench.world, good)
    accept(bench, Type.LISTENERS)
    want(bench.world, bad)
    reject(bench, Type.LISTENERS, LISTENER_REJECTED)
    return bench


def test_a_route_that_was_never_good_is_answered_with_503_for_the_same_requests() -> None:
    match = {"prefix": "/admin/", "headers": [{"name": "x", "present_match": True}]}
    bench = with_routes(route("admin", match=match))
    reject(bench)
    [[found]] = [host.routes for host in configuration(bench.world).virtual_hosts]
    assert (found.direct_response.status, found.match.prefix, found.match.headers[0].name) == (503, "/admin/", "x")
    assert bench.records["envoy_route", "admin"].meanwhile == "until it is fixed its requests are answered with 503"
    assert bench.records["envoy_route", "admin"].message == NO


def test_a_route_with_a_rejected_match_answers_503_for_its_whole_path() -> None:
    match = {"prefix": "/admin/", "headers": [{"name": "x", "present_match": True}]}
    bench = with_routes(route("admin", match=match))
    reject(bench)
    reject(bench, message="the same again")
    [[found]] = [host.routes for host in configuration(bench.world).virtual_hosts]
    assert (found.direct_response.status, found.match.prefix, len(found.match.headers)) == (503, "/admin/", 0)


def test_a_route_whose_path_itself_is_rejected_is_left_out_and_that_is_reported() -> None:
    bench = with_routes(route("admin"))
    reject(bench)
    reject(bench)
    assert not configuration(bench.world).virtual_hosts[0].routes
    assert "go to other routes" in bench.records["envoy_route", "admin"].meanwhile
    assert bench.records["envoy_route", "admin"].message == NO


def test_a_route_that_was_good_stays_as_it_was() -> None:
    bench = with_routes(route("admin"))
    accept(bench)
    want(bench.world, route("admin", revision=2, match={"prefix": "/new/"}))
    reject(bench)
    assert configuration(bench.world).virtual_hosts[0].routes[0].match.prefix == "/admin"
    assert not bench.records["envoy_route", "admin"].meanwhile


def test_a_fallback_route_is_never_recorded_as_the_last_good_version() -> None:
    bench = with_routes(route("admin"))
    reject(bench)
    accept(bench)
    want(bench.world, route("admin", revision=2, match={"prefix": "/new/"}))
    reject(bench)
    assert bench.records["envoy_route", "admin"].last_good is None
    [[found]] = [host.routes for host in configuration(bench.world).virtual_hosts]
    assert (found.match.prefix, found.direct_response.status) == ("/new/", 503)


def test_a_route_whose_cluster_is_rejected_is_answered_with_503() -> None:
    bench = with_routes(route("admin", cluster="bad"))
    want(bench.world, cluster("bad"))
    reject(bench, Type.CLUSTERS, "Error adding/updating cluster(s) bad: no")
    [[found]] = [host.routes for host in configuration(bench.world).virtual_hosts]
    assert (found.name, found.direct_response.status) == ("admin", 503)
    want(bench.world, cluster("bad", revision=2, connect_timeout="1s"))
    bench.world.publish()
    assert configuration(bench.world).virtual_hosts[0].routes[0].route.cluster == "bad"


def test_a_listener_that_is_rejected_with_a_new_guard_is_withdrawn() -> None:
    bench = rejected_anew(guarded("ip"), guarded("auth", "ip", stat_prefix="x"))
    assert served(bench.world, Type.LISTENERS) == set()
    record = bench.records["envoy_listener", "ns/a"]
    assert (record.guards, record.last_good is not None) == (("ip",), True)
    assert "lacks auth" in record.meanwhile


def test_a_listener_whose_guards_are_all_in_its_last_good_version_stays() -> None:
    bench = rejected_anew(guarded("auth", "ip"), guarded("auth", stat_prefix="x"))
    assert served(bench.world, Type.LISTENERS) == {"ns/a"}
    assert not bench.records["envoy_listener", "ns/a"].meanwhile


def test_a_listener_whose_new_guard_waits_for_a_rejected_cluster_is_withdrawn() -> None:
    bench = ServedWorld()
    want(bench.world, guarded())
    accept(bench, Type.LISTENERS)
    want(bench.world, cluster("auth"))
    reject(bench, Type.CLUSTERS, "Error adding/updating cluster(s) auth: no")
    want(bench.world, guarded("auth", refers_to="auth"))
    assert served(bench.world, Type.LISTENERS) == set()


def change(version: Version, revision: int, config: dict[str, object]) -> Change:
    fq_name = version.element.name.split(":")
    value = msgspec.json.encode({"fq_name": fq_name, "config": config, "guards": version.element.guards})
    return Change(version.element.kind, "uuid-of-it", value, revision, revision)


def restarted(bench: ServedWorld, bad: dict[str, object]) -> tuple[ServedWorld, WatchConsumer]:
    """Another process over the same store, in which the rejected listener ``ns/a`` has become ``bad`` meanwhile."""
    again = ServedWorld()
    consumer = WatchConsumer(again.world)
    record = bench.records["envoy_listener", "ns/a"]
    recorded = Change("envoy_rejection", "uuid-of-record", record_value(record), 5, 5)
    consumer.apply(Snapshot(9, (change(guarded("auth"), 9, {"name": "ns/a", **bad}), recorded)))
    return again, consumer


def test_the_record_of_another_rejected_version_gives_the_last_good_one() -> None:
    bench = rejected_anew(guarded("auth"), guarded("auth", stat_prefix="bad"))
    again, _ = restarted(bench, {"stat_prefix": "bad, too"})
    reject(again, Type.LISTENERS, LISTENER_REJECTED)
    assert served(again.world, Type.LISTENERS) == {"ns/a"}
    assert again.records["envoy_listener", "ns/a"].last_good == bench.records["envoy_listener", "ns/a"].last_good


def test_a_restart_knows_that_a_last_good_listener_lacks_a_guard() -> None:
    bench = rejected_anew(guarded(), guarded("auth", stat_prefix="bad"))
    again, _ = restarted(bench, {"stat_prefix": "bad, too"})
    reject(again, Type.LISTENERS, LISTENER_REJECTED)
    assert served(again.world, Type.LISTENERS) == set()


def turned_bad_meanwhile(*guards: str) -> tuple[ServedWorld, Envoy]:
    """An Envoy with a listener from a former process, that rejects the one it is sent now."""
    bench = ServedWorld()
    version = guarded(*guards, stat_prefix="bad")
    want(bench.world, version._replace(element=version.element._replace(revision=7)))
    bench.world.publish()
    envoy = Envoy(bench)
    envoy.asks(Type.LISTENERS, known={"ns/a": "3.other.1"})
    envoy.answers(envoy.receives(), LISTENER_REJECTED)
    bench.world.publish()
    return bench, envoy


def test_an_envoy_keeps_the_listener_it_has_if_nobody_knows_what_was_good() -> None:
    bench, envoy = turned_bad_meanwhile()
    assert envoy.receives() is None
    bench.world.want(("envoy_listener", "ns/a"), None)
    bench.world.publish()
    response = envoy.receives()
    assert response is not None
    assert response.deleted == ["ns/a"]


def test_an_envoy_loses_the_listener_it_has_if_that_may_lack_a_guard() -> None:
    _, envoy = turned_bad_meanwhile("auth")
    response = envoy.receives()
    assert response is not None
    assert response.deleted == ["ns/a"]


def test_a_record_without_its_element_is_found() -> None:
    bench = rejected_anew(guarded(), guarded("auth"))
    consumer = WatchConsumer(ServedWorld().world)
    record = bench.records["envoy_listener", "ns/a"]
    consumer.apply(Snapshot(9, (Change("envoy_rejection", "uuid-of-record", record_value(record), 5, 5),)))
    assert consumer.orphans() == [("envoy_listener", "ns/a")]
