"""Listeners that hand an address over to another are removed in a separate step, in either dialect."""

from __future__ import annotations

import pytest

from intentc.bridges.xds.elements import Type
from tests.unit.bridges.xds.served_world import Envoy, at, names_in, published, want


def with_three(whole: bool) -> Envoy:
    envoy = Envoy(published(at("a", 1), at("b", 2), at("stays", 3)), whole=whole)
    envoy.asks(Type.LISTENERS)
    envoy.accepts_all()
    return envoy


@pytest.mark.parametrize("whole", [False, True])
def test_those_who_swap_come_only_when_their_going_is_answered(whole: bool) -> None:
    envoy = with_three(whole)
    want(envoy.bench.world, at("a", 2), at("b", 1))
    envoy.bench.world.publish()
    going = envoy.receives()
    assert names_in(going) == ({"stays"} if whole else set())
    assert going is not None and list(going.deleted) == ["a", "b"]
    assert envoy.receives() is None
    envoy.answers(going)
    assert names_in(envoy.receives()) == ({"a", "b", "stays"} if whole else {"a", "b"})


@pytest.mark.parametrize("whole", [False, True])
def test_a_listener_moves_to_a_free_address_in_one_step(whole: bool) -> None:
    envoy = with_three(whole)
    want(envoy.bench.world, at("a", 4))
    envoy.bench.world.publish()
    assert envoy.accepts_all() == [(Type.LISTENERS, {"a", "b", "stays"} if whole else {"a"})]


@pytest.mark.parametrize("whole", [False, True])
def test_nothing_is_sent_again_once_the_hand_over_is_answered(whole: bool) -> None:
    envoy = with_three(whole)
    want(envoy.bench.world, at("a", 2), at("b", 1))
    envoy.bench.world.publish()
    assert len(envoy.accepts_all()) == 2
    assert envoy.receives() is None
    assert envoy.session.serial == envoy.bench.world.serial
