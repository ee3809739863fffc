"""The bench of gateways in its short form, with bounds that only a broken path misses."""

from __future__ import annotations

import io

import pytest

from tests.perf.gateway_figures import Cost, Extent, measured, table

SMALL, LARGE = Extent(100, 0), Extent(1_000, 0)
CHANGES = 50


@pytest.fixture(scope="module")
def costs() -> dict[Extent, Cost]:
    worlds = (SMALL, LARGE, Extent(150, 100), Extent(100, 10, wildcard=True))
    return {cost.world: cost for cost in measured(worlds, io.StringIO(), rounds=2, changes=CHANGES, envoy=False)}


def test_one_change_costs_the_same_in_a_world_ten_times_as_large(costs: dict[Extent, Cost]) -> None:
    assert costs[LARGE].change < 2 * costs[SMALL].change
    assert {cost.writes for cost in costs.values()} == {2}, "the new route, and the former one"


def test_the_whole_world_costs_what_it_should(costs: dict[Extent, Cost]) -> None:
    for cost in costs.values():
        assert cost.full / cost.mappings < 0.005, f"seconds of CPU a Mapping, {cost.world.title}"


def test_one_change_of_a_route_is_assembled_in_no_time(costs: dict[Extent, Cost]) -> None:
    assert all(cost.route + cost.table < 0.01 for cost in costs.values())


@pytest.mark.parametrize("world", [Extent(150, 100), Extent(100, 10, wildcard=True)], ids=lambda world: world.title)
def test_elements_are_not_multiplied(costs: dict[Extent, Cost], world: Extent) -> None:
    listeners_and_the_like = 10
    assert costs[world].elements < 3 * world.mappings + world.hosts + listeners_and_the_like


def test_every_world_is_a_row_of_the_table(costs: dict[Extent, Cost]) -> None:
    text = table(costs.values())
    assert all(f"| {world.title} |" in text for world in costs)
