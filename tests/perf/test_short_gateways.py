"""The bench of gateways in its short form, with bounds that only a broken path misses."""

from __future__ import annotations

import io

import pytest

from tests.perf.gateway_figures import Cost, Extent, measured, table

SMALL, LARGE = Extent(50, 0), Extent(500, 0)
HOSTS, WILDCARD = Extent(60, 40), Extent(50, 5, wildcard=True)
CHANGES = 10
_ATTEMPTS = 10


@pytest.fixture(scope="module")
def costs() -> dict[Extent, Cost]:
    """The least of each figure, since others on the machine only ever add: one change is timed by the clock, and is
    measured until it had a quiet moment in each world. Such a moment is as short as one change: the median of ten would
    need as long a one as all of them."""
    costs = once(SMALL, LARGE, HOSTS, WILDCARD)
    for _ in range(_ATTEMPTS):
        if constant(costs) and at_once(costs):
            break
        for world, cost in once(SMALL, LARGE).items():
            costs[world] = Cost._make(map(min, zip(costs[world], cost, strict=True)))
    return costs


def once(*worlds: Extent) -> dict[Extent, Cost]:
    return {cost.world: cost for cost in measured(worlds, io.StringIO(), rounds=1, changes=CHANGES, envoy=False)}


def constant(costs: dict[Extent, Cost]) -> bool:
    return costs[LARGE].quickest < 2 * costs[SMALL].quickest


def at_once(costs: dict[Extent, Cost]) -> bool:
    return all(costs[world].route + costs[world].table < 0.01 for world in (SMALL, LARGE))


def test_one_change_costs_the_same_in_a_world_ten_times_as_large(costs: dict[Extent, Cost]) -> None:
    assert constant(costs)
    assert {cost.writes for cost in costs.values()} == {2}, "the new route, and the former one"


def test_the_whole_world_costs_what_it_should(costs: dict[Extent, Cost]) -> None:
    for cost in costs.values():
        assert cost.full / cost.mappings < 0.005, f"seconds of CPU a Mapping, {cost.world.title}"


def test_one_change_of_a_route_is_assembled_in_no_time(costs: dict[Extent, Cost]) -> None:
    assert at_once(costs)


@pytest.mark.parametrize("world", [HOSTS, WILDCARD], ids=lambda world: world.title)
def test_elements_are_not_multiplied(costs: dict[Extent, Cost], world: Extent) -> None:
    listeners_and_the_like = 10
    assert costs[world].elements < 3 * world.mappings + world.hosts + listeners_and_the_like


def test_every_world_is_a_row_of_the_table(costs: dict[Extent, Cost]) -> None:
    text = table(costs.values())
    assert all(f"| {world.title} |" in text for world in costs)
