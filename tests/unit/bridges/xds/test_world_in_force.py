"""What is in force: which elements wait for others, and which stay while others refer to them."""

from __future__ import annotations

from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from tests.unit.bridges.xds.served_world import (
    ServedWorld,
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


class _Stream:
    peer = "envoy"

    def __init__(self, serial: int) -> None:
        self.serial = serial


def test_a_route_waits_until_its_cluster_is_there() -> None:
    world = SnapshotCache()
    want(world, virtual_host("*"), route("r", cluster="c"))
    world.publish()
    assert shown(configuration(world)) == {"*": []}
    assert list(world.held.values()) == [{"c"}]
    want(world, cluster("c"))
    world.publish()
    assert shown(configuration(world)) == {"*": ["r"]}
    assert not world.held


def test_while_a_changed_route_waits_its_former_version_stays() -> None:
    world = SnapshotCache()
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    want(world, route("r", cluster="new"))
    world.publish()
    [host] = configuration(world).virtual_hosts
    assert [one.route.cluster for one in host.routes] == ["c"]


def test_a_listener_waits_for_the_clusters_of_its_extensions() -> None:
    world = SnapshotCache()
    want(world, listener("l", refers_to="als"))
    assert served(world, Type.LISTENERS) == set()
    want(world, cluster("als"))
    assert served(world, Type.LISTENERS) == {"l"}


def test_a_cluster_in_use_stays_though_it_is_gone_from_the_store() -> None:
    world = SnapshotCache()
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    world.publish()
    unwant(world, cluster("c"))
    world.publish()
    assert served(world, Type.CLUSTERS) == {"c"}
    unwant(world, route("r"))
    world.publish()
    assert served(world, Type.CLUSTERS) == set()


def test_a_cluster_goes_only_when_every_envoy_has_let_go_of_its_routes() -> None:
    world = SnapshotCache()
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    world.publish()
    quick, slow = _Stream(world.serial), _Stream(world.serial)
    world.streams |= {quick, slow}
    unwant(world, route("r"), cluster("c"))
    world.publish()
    assert served(world, Type.CLUSTERS) == {"c"}
    quick.serial = world.serial
    world.publish()
    assert served(world, Type.CLUSTERS) == {"c"}
    slow.serial = world.serial
    world.publish()
    assert served(world, Type.CLUSTERS) == set()


def test_a_cluster_that_comes_back_before_it_went_never_went() -> None:
    world = SnapshotCache()
    want(world, virtual_host("*"), cluster("c"), route("r", cluster="c"))
    unwant(world, cluster("c"))
    want(world, cluster("c", connect_timeout="9s"))
    unwant(world, route("r"))
    world.publish()
    assert served(world, Type.CLUSTERS) == {"c"}


def test_nothing_changed_publishes_nothing() -> None:
    world = SnapshotCache()
    want(world, cluster("c"))
    assert world.publish()
    assert not world.publish()
    want(world, cluster("c", revision=2))
    assert not world.publish()


def test_a_stream_finds_what_was_created_changed_and_deleted_since_its_last_response() -> None:
    world = SnapshotCache()
    want(world, cluster("a"), cluster("b"), cluster("c"))
    world.publish()
    seen = world.serial
    want(world, cluster("a", connect_timeout="9s"))
    unwant(world, cluster("b"))
    world.publish()
    assert set(world.served.changed_since(Type.CLUSTERS, seen) or ()) == {"a", "b"}
    assert world.served.changed_since(Type.CLUSTERS, world.serial) == []


def test_a_request_for_absent_routes_gets_none() -> None:
    assert shown(configuration(SnapshotCache(), "unknown")) == {}


def test_the_first_of_two_elements_with_one_name_counts_until_its_removal() -> None:
    world = SnapshotCache()
    one = cluster("c")
    other = one._replace(element=one.element._replace(name="z"))
    want(world, other, one)
    assert served(world, Type.CLUSTERS) == {"c"}
    unwant(world, one)
    world.publish()
    assert served(world, Type.CLUSTERS) == {"c"}


def test_the_version_names_the_revision_only_while_nobody_waits() -> None:
    bench = ServedWorld()
    bench.world.revision = 7
    want(bench.world, virtual_host("*"), route("r", cluster="missing"))
    bench.world.publish()
    assert bench.world.version(Type.CLUSTERS).startswith("7.")
    assert bench.world.version(Type.ROUTES).startswith("0.")
