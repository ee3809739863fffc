"""Which element caused a rejection, and what is in force meanwhile."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.encoding import Version
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from tests.unit.bridges.xds.served_world import (
    CONFIGURATION,
    ServedWorld,
    cluster,
    configuration,
    listener,
    route,
    served,
    shown,
    virtual_host,
    want,
)


class _Envoy:
    """Rejects a route configuration in which one of the ``bad`` routes stands as it was when it was bad."""

    def __init__(self, bench: ServedWorld, bad: set[str]) -> None:
        self.bench = bench
        self.bad = bad
        self.rejections = 0

    def settles(self) -> bool:
        """Ask for the routes whenever something new is published; returns whether all is accepted in the end."""
        world, names = self.bench.world, {CONFIGURATION}
        for _ in range(100):
            if not world.publish():
                return True
            trial = world.trial(Type.ROUTES, names)
            if any(is_bad(one, self.bad) for one in trial):
                self.rejections += 1
                self.bench.rejections.on_rejection(Type.ROUTES, names, trial, "something is wrong")
            else:
                world.acknowledged(Type.ROUTES, trial)
        return False


def forwarded(world: SnapshotCache) -> set[str]:
    """The routes in force that have an upstream."""
    return {one.name for host in configuration(world).virtual_hosts for one in host.routes if one.route.cluster}


def is_bad(version: Version, bad: set[str]) -> bool:
    return version.element.name in bad and version.clusters == ("c",)


@pytest.mark.parametrize("bad", [{"r3"}, {"r0"}, {"r1", "r2"}, {"r0", "r17", "r31"}])
def test_the_bad_routes_are_found_among_many_and_all_others_are_in_force(bad: set[str]) -> None:
    bench = ServedWorld()
    names = {f"r{number}" for number in range(32)}
    want(bench.world, cluster("c"), virtual_host("*"), *(route(name) for name in sorted(names)))
    assert _Envoy(bench, bad).settles()
    assert forwarded(bench.world) == names - bad
    assert {name for _, name in bench.records} == bad


def test_finding_one_bad_route_costs_as_many_rejections_as_halvings() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("c"), virtual_host("*"), *(route(f"r{number}") for number in range(1_000)))
    envoy = _Envoy(bench, {"r511"})
    assert envoy.settles()
    assert envoy.rejections <= 12


def test_a_search_never_removes_what_was_acknowledged_before() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("c"), cluster("d"), virtual_host("*"), *(route(f"r{n}", cluster="d") for n in range(8)))
    envoy = _Envoy(bench, {"r5"})
    assert envoy.settles()
    world = bench.world
    want(world, *(route(f"r{n}") for n in range(8)))
    for _ in range(20):
        if not world.publish():
            break
        assert len(shown(configuration(world))["*"]) == 8
        trial = world.trial(Type.ROUTES, None)
        if any(is_bad(one, {"r5"}) for one in trial):
            bench.rejections.on_rejection(Type.ROUTES, None, trial, "no")
        else:
            world.acknowledged(Type.ROUTES, trial)
    [host] = configuration(world).virtual_hosts
    assert {one.name: one.route.cluster for one in host.routes} == {f"r{n}": "d" if n == 5 else "c" for n in range(8)}
    assert bench.records["envoy_route", "r5"].last_good is not None


def test_clusters_that_envoy_names_are_found_at_once_each_with_its_own_words() -> None:
    bench = ServedWorld()
    want(bench.world, *(cluster(name) for name in ("a", "b", "c", "bb")))
    message = "Error adding/updating cluster(s) bb: no such thing, with a comma, a: another"
    bench.rejections.on_rejection(Type.CLUSTERS, None, bench.world.trial(Type.CLUSTERS, None), message)
    assert served(bench.world, Type.CLUSTERS) == {"b", "c"}
    assert {name: one.message for (_, name), one in bench.records.items()} == {
        "bb": "no such thing, with a comma",
        "a": "another",
    }


def test_a_listener_that_envoy_names_is_found_at_once() -> None:
    bench = ServedWorld()
    want(bench.world, listener("ns/a"), listener("ns/b"))
    message = "Error adding/updating listener(s) ns/b: no filter chains\n"
    bench.rejections.on_rejection(Type.LISTENERS, None, bench.world.trial(Type.LISTENERS, None), message)
    assert served(bench.world, Type.LISTENERS) == {"ns/a"}
    assert bench.records["envoy_listener", "ns/b"].message == "no filter chains"


@pytest.mark.parametrize("accepted", [False, True])
def test_each_of_two_listeners_in_one_answer_gets_its_own_part(accepted: bool) -> None:
    """``accepted``: another Envoy took the one of them, which is left out of it."""
    bench = ServedWorld()
    world = bench.world
    want(world, listener("ns/b"), listener("ns/c"), listener("ns/a"))
    world.publish()
    on_trial = world.trial(Type.LISTENERS, None)
    world.acknowledged(Type.LISTENERS, [one for one in on_trial if accepted and one.resource == "ns/b"])
    message = "Error adding/updating listener(s) ns/a: no chains, none\nns/b: no filters\n"
    bench.rejections.on_rejection(Type.LISTENERS, None, on_trial, message)
    expected = {"ns/a": "no chains, none"} | ({} if accepted else {"ns/b": "no filters"})
    assert {name: one.message for (_, name), one in bench.records.items()} == expected


def test_a_second_envoy_that_rejects_the_same_blames_nobody_else() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("c"), virtual_host("*"), route("r1"), route("r2"))
    trial = bench.world.trial(Type.ROUTES, None)
    bench.rejections.on_rejection(Type.ROUTES, None, trial, "no")
    bench.rejections.on_rejection(Type.ROUTES, None, trial, "no")
    assert not bench.records


def test_one_envoys_rejection_removes_nothing_that_others_accepted() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("a"))
    bench.world.acknowledged(Type.CLUSTERS, bench.world.trial(Type.CLUSTERS, None))

    class Stream:
        serial = 1
        peer = "envoy"

    bench.world.streams |= {Stream(), Stream()}
    message = "Error adding/updating cluster(s) a: no"
    assert not bench.rejections.on_rejection(Type.CLUSTERS, None, bench.world.trial(Type.CLUSTERS, None), message)
    assert served(bench.world, Type.CLUSTERS) == {"a"}


def test_the_only_envoy_may_reject_what_was_acknowledged_once() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("a"), cluster("b"))
    bench.world.acknowledged(Type.CLUSTERS, bench.world.trial(Type.CLUSTERS, None))
    assert bench.rejections.on_rejection(Type.CLUSTERS, None, [], "Error adding/updating cluster(s) a: no")
    assert served(bench.world, Type.CLUSTERS) == {"b"}


def test_a_fixed_element_loses_its_record_when_it_is_acknowledged() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("c"), cluster("d"), virtual_host("*"), route("r1"))
    envoy = _Envoy(bench, {"r1"})
    assert envoy.settles()
    assert bench.records
    want(bench.world, route("r1", cluster="d"))
    assert bench.records
    assert envoy.settles()
    assert not bench.records
    assert shown(configuration(bench.world)) == {"*": ["r1"]}


def test_an_element_set_back_to_what_was_good_loses_its_record_at_once() -> None:
    bench = ServedWorld()
    want(bench.world, cluster("c"), cluster("d"), virtual_host("*"), route("r1", cluster="d"))
    envoy = _Envoy(bench, {"r1"})
    assert envoy.settles()
    want(bench.world, route("r1"))
    assert envoy.settles()
    assert bench.records
    want(bench.world, route("r1", cluster="d"))
    assert not bench.records


def test_a_rejected_element_that_goes_takes_its_record_along() -> None:
    bench = ServedWorld()
    bad = route("r1")
    want(bench.world, cluster("c"), virtual_host("*"), bad)
    assert _Envoy(bench, {"r1"}).settles()
    bench.world.want(bad.key, None)
    assert not bench.records
