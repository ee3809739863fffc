"""How requests are divided, as a pure function of the weights."""

from __future__ import annotations

from fractions import Fraction

import pytest

from intentc.compilers.ambassador.routing.route_action import over_the_whole, proportions


@pytest.mark.parametrize(
    ("weights", "percents"),
    [
        ((None,), (100,)),
        ((20,), (100,)),
        ((0,), (100,)),
        ((80, 20), (80, 20)),
        ((20, 30), (40, 60)),
        ((10, None), (10, 90)),
        ((None, None), (50, 50)),
        ((40, None, None, None), (40, 20, 20, 20)),
        ((100, None), (100, 0)),
        ((0, 0), (50, 50)),
    ],
)
def test_weights_are_percents_and_what_is_left_is_shared_equally(
    weights: tuple[int | None, ...], percents: tuple[int, ...]
) -> None:
    found = proportions(weights)
    assert tuple(Fraction(100 * share, sum(found)) for share in found) == percents


def test_three_who_name_none_get_exactly_a_third_each() -> None:
    assert len(set(proportions((None, None, None)))) == 1


def test_one_over_100_is_out_and_later_ones_may_fit() -> None:
    assert over_the_whole([60, 50, 40, None, 1]) == {1, 4}


def test_100_is_not_too_much() -> None:
    assert over_the_whole([50, None, 50]) == frozenset()
