"""What one Envoy is sent, in which order, and what it is not sent again."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.draining import SILENCE_SECONDS
from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.session import Request
from tests.unit.bridges.xds.served_world import (
    CONFIGURATION,
    Envoy,
    ServedWorld,
    cluster,
    eds_cluster,
    endpoints,
    listener,
    names_in,
    published,
    route,
    secret,
    served,
    unwant,
    virtual_host,
    want,
)


def gateway() -> ServedWorld:
    return published(eds_cluster("c"), endpoints("c"), listener("l"), virtual_host("*"), route("r"))


def connected(bench: ServedWorld, *, whole: bool = False) -> Envoy:
    envoy = Envoy(bench, whole=whole)
    envoy.asks(Type.CLUSTERS)
    envoy.asks(Type.ENDPOINTS, "c")
    envoy.asks(Type.LISTENERS)
    envoy.asks(Type.ROUTES, CONFIGURATION)
    envoy.accepts_all()
    return envoy


def test_what_changed_together_is_sent_clusters_first_and_routes_last() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, route("n", cluster="n"), listener("n"), endpoints("c", policy={}), cluster("n"))
    bench.world.publish()
    assert [kind for kind, _ in envoy.accepts_all()] == [Type.CLUSTERS, Type.ENDPOINTS, Type.LISTENERS, Type.ROUTES]


def test_nothing_that_refers_to_it_is_sent_before_the_answer() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, route("n", cluster="n"), cluster("n"))
    bench.world.publish()
    clusters = envoy.receives()
    assert names_in(clusters) == {"n"}
    assert envoy.receives() is None
    envoy.answers(clusters)
    assert names_in(envoy.receives()) == {CONFIGURATION}


def test_a_changed_secret_alone_is_sent_at_once() -> None:
    bench = published(secret("s", generic_secret={"secret": {"inline_string": "old"}}))
    envoy = Envoy(bench)
    envoy.asks(Type.SECRETS, "s")
    envoy.accepts_all()
    assert envoy.session.serial == bench.world.serial
    want(bench.world, secret("s", generic_secret={"secret": {"inline_string": "new"}}))
    bench.world.publish()
    response = envoy.receives()
    assert names_in(response) == {"s"}
    assert envoy.receives() is None
    assert envoy.session.serial < bench.world.serial
    envoy.answers(response)
    assert envoy.receives() is None
    assert envoy.session.serial == bench.world.serial


def test_clusters_that_change_without_end_do_not_keep_routes_waiting() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, route("n"), cluster("n"))
    bench.world.publish()
    clusters = envoy.receives()
    want(bench.world, cluster("n", connect_timeout="2s"))
    bench.world.publish()
    envoy.answers(clusters)
    routes = envoy.receives()
    assert routes is not None
    assert routes.kind is Type.ROUTES
    envoy.answers(routes)
    assert envoy.accepts_all() == [(Type.CLUSTERS, {"n"})]


def test_only_changes_and_deletions_are_sent() -> None:
    bench = published(cluster("a"), cluster("b"), cluster("c"))
    envoy = Envoy(bench)
    envoy.asks(Type.CLUSTERS)
    assert envoy.accepts_all() == [(Type.CLUSTERS, {"a", "b", "c"})]
    want(bench.world, cluster("a", connect_timeout="2s"))
    unwant(bench.world, cluster("b"))
    bench.world.publish()
    response = envoy.receives()
    assert names_in(response) == {"a"}
    assert response is not None
    assert response.deleted == ["b"]


def test_state_of_the_world_sends_all_clusters_at_each_change() -> None:
    bench = published(cluster("a"), cluster("b"))
    envoy = Envoy(bench, whole=True)
    envoy.asks(Type.CLUSTERS)
    envoy.accepts_all()
    want(bench.world, cluster("a", connect_timeout="2s"))
    bench.world.publish()
    assert envoy.accepts_all() == [(Type.CLUSTERS, {"a", "b"})]


def test_a_first_request_is_answered_even_without_resources() -> None:
    for whole in (False, True):
        envoy = Envoy(published(), whole=whole)
        envoy.asks(Type.CLUSTERS)
        assert envoy.accepts_all() == [(Type.CLUSTERS, set())]
        assert envoy.receives() is None


def test_endpoints_that_are_newly_asked_for_are_sent_though_another_answer_is_awaited() -> None:
    bench = gateway()
    envoy = Envoy(bench)
    envoy.asks(Type.CLUSTERS)
    assert names_in(envoy.receives()) == {"c"}
    envoy.asks(Type.ENDPOINTS, "c")
    assert names_in(envoy.receives()) == {"c"}


def test_routes_wait_for_clusters_that_do_not_get_warm_but_not_for_ever() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, route("n", cluster="n"), cluster("n"))
    bench.world.publish()
    clusters = envoy.receives()
    assert envoy.receives() is None
    assert envoy.session.patience() is not None
    envoy.now += 2
    assert envoy.accepts_all() == [(Type.ROUTES, {CONFIGURATION})]
    want(bench.world, cluster("m"))
    bench.world.publish()
    assert envoy.accepts_all() == [(Type.CLUSTERS, {"m"})]
    envoy.answers(clusters)
    assert not bench.world.trial(Type.CLUSTERS, None)


def test_a_changed_cluster_gets_its_endpoints_again_before_it_is_answered() -> None:
    for whole in (False, True):
        bench = gateway()
        envoy = connected(bench, whole=whole)
        want(bench.world, eds_cluster("c", connect_timeout="2s"))
        bench.world.publish()
        clusters = envoy.receives()
        assert names_in(clusters) == {"c"}
        again = envoy.receives()
        assert again is not None
        assert (again.kind, names_in(again)) == (Type.ENDPOINTS, {"c"})
        envoy.answers(again, None, "c")
        envoy.answers(clusters)
        assert envoy.accepts_all() == []


def test_what_nobody_asked_for_is_not_sent() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, virtual_host("x", configuration="other"), endpoints("other"))
    bench.world.publish()
    assert envoy.accepts_all() == []
    assert envoy.session.serial == bench.world.serial


def test_a_rejected_response_is_not_repeated_until_something_was_changed() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, route("bad"))
    bench.world.publish()
    envoy.answers(envoy.receives(), "bad is bad")
    assert envoy.receives() is None
    bench.world.publish()
    assert envoy.accepts_all() == [(Type.ROUTES, {CONFIGURATION})]
    assert list(bench.world.rejected) == [("envoy_route", "bad")]


def test_routes_after_a_rejected_cluster_wait_for_the_next_round() -> None:
    bench = gateway()
    envoy = connected(bench)
    want(bench.world, cluster("bad"), route("n"))
    bench.world.publish()
    envoy.answers(envoy.receives(), "Error adding/updating cluster(s) bad: no")
    bench.world.publish()
    assert envoy.accepts_all() == [(Type.ROUTES, {CONFIGURATION}), (Type.CLUSTERS, set())]


def test_an_answer_to_an_older_response_changes_nothing() -> None:
    bench = gateway()
    envoy = connected(bench, whole=True)
    want(bench.world, cluster("n"))
    bench.world.publish()
    assert envoy.receives() is not None
    envoy.session.receive(Request(Type.CLUSTERS, "0", error="late", names=frozenset()))
    assert envoy.receives() is None
    assert not bench.records


def test_an_envoy_that_reconnects_is_sent_only_what_it_does_not_have() -> None:
    bench = published(cluster("a"), cluster("b"))
    known = {name: resource.version for name, resource in bench.world.served.resources(Type.CLUSTERS).items()}
    want(bench.world, cluster("b", connect_timeout="2s"))
    bench.world.publish()
    envoy = Envoy(bench)
    envoy.asks(Type.CLUSTERS, known=known)
    assert names_in(envoy.receives()) == {"b"}
    envoy.asks(Type.LISTENERS, known={"gone": "1"})
    envoy.session.receive(Request(Type.CLUSTERS, "1"))
    response = envoy.receives()
    assert response is not None
    assert (response.kind, response.deleted) == (Type.LISTENERS, ["gone"])


def test_a_version_accepted_from_a_former_server_is_not_on_trial() -> None:
    for whole in (False, True):
        bench = ServedWorld()
        want(bench.world, cluster("old", revision=5), cluster("new", revision=9))
        bench.world.publish()
        envoy = Envoy(bench, whole=whole)
        envoy.asks(Type.CLUSTERS, version="7.former.3", known={"old": "7.former.1", "new": "7.former.2"})
        assert [one.resource for one in bench.world.trial(Type.CLUSTERS, None)] == ["new"]


def test_a_cluster_in_use_is_taken_away_only_after_the_routes() -> None:
    bench = gateway()
    envoy = connected(bench)
    unwant(bench.world, route("r"), eds_cluster("c"))
    bench.world.publish()
    assert envoy.accepts_all() == [(Type.ROUTES, {CONFIGURATION})]
    bench.world.publish()
    response = envoy.receives()
    assert response is not None
    assert (response.kind, response.deleted) == (Type.CLUSTERS, ["c"])
    assert served(bench.world, Type.CLUSTERS) == set()


def test_a_name_that_is_dropped_is_sent_no_more() -> None:
    bench = gateway()
    envoy = connected(bench)
    envoy.session.receive(Request(Type.ENDPOINTS, less=("c",)))
    want(bench.world, endpoints("c", policy={}))
    bench.world.publish()
    assert envoy.accepts_all() == []


def let_go(bench: ServedWorld) -> None:
    """The Envoys that have answered nothing for so long are not waited for."""
    bench.now += SILENCE_SECONDS
    bench.world.publish()
    assert set(bench.world.served.resources(Type.CLUSTERS)) == {"new"}


def answering_late(*, whole: bool) -> tuple[ServedWorld, Envoy]:
    """An Envoy that was silent while the others moved from the cluster ``old`` to ``new``, and answers now."""
    bench = published(cluster("old"), virtual_host("*"), route("r", cluster="old"))
    envoy = connected(bench, whole=whole)
    want(bench.world, virtual_host("*", response_headers_to_add=[{"header": {"key": "x", "value": "y"}}]))
    bench.world.publish()
    stuck = envoy.receives()
    want(bench.world, cluster("new"), route("r", cluster="new"))
    unwant(bench.world, cluster("old"))
    bench.world.publish()
    let_go(bench)
    envoy.answers(stuck, None, *names_in(stuck))
    return bench, envoy


@pytest.mark.parametrize("whole", [False, True], ids=["incremental", "state of the world"])
def test_a_stream_that_answers_late_loses_a_cluster_only_after_its_routes(whole: bool) -> None:
    """The others did not wait for it: they have let go of the cluster that its routes still ask."""
    bench, envoy = answering_late(whole=whole)
    found = []
    while (response := envoy.receives()) is not None:
        found.append((response.kind, names_in(response), set(response.deleted)))
        envoy.answers(response, None, *names_in(response))
    kept, left = ({"old", "new"}, {"new"}) if whole else ({"new"}, set())
    assert found == [
        (Type.CLUSTERS, kept, set()),
        (Type.ROUTES, {CONFIGURATION}, set()),
        (Type.CLUSTERS, left, {"old"}),
    ]
    assert envoy.session.serial == bench.world.serial


@pytest.mark.parametrize("whole", [False, True], ids=["incremental", "state of the world"])
def test_a_cluster_that_is_back_before_its_removal_was_sent_stays(whole: bool) -> None:
    bench, envoy = answering_late(whole=whole)
    envoy.answers(envoy.receives())
    want(bench.world, cluster("old"))
    bench.world.publish()
    while (response := envoy.receives()) is not None:
        assert not response.deleted
        assert not whole or response.kind is not Type.CLUSTERS or names_in(response) == {"old", "new"}
        envoy.answers(response, None, *names_in(response))
