"""Rates over the last ten seconds, and since when things stand as they do."""

from __future__ import annotations

import pytest

from intentc.inspection.status.rates import Pace


class Clock:
    """Both clocks; moved by the test."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock, clock)


def test_without_a_look_nothing_is_told_of_rates(pace: Pace) -> None:
    assert pace.rates() == {"evaluations": 0.0, "writes": 0.0}


def test_rates_are_of_the_last_ten_seconds(pace: Pace, clock: Clock) -> None:
    for second in range(31):
        clock.seconds = float(second)
        busy = min(second, 20)
        pace.look(evaluations=1000 + 50 * busy, writes=5 * busy, reachable=True, converged=True)
        if second == 20:
            assert pace.rates() == {"evaluations": 50.0, "writes": 5.0}
        if second == 25:
            assert pace.rates() == {"evaluations": 25.0, "writes": 2.5}
    assert pace.rates() == {"evaluations": 0.0, "writes": 0.0}


def test_being_busy_is_told_from_its_beginning(pace: Pace, clock: Clock) -> None:
    for seconds, converged in ((100.0, True), (101.0, False), (102.0, False), (104.0, False)):
        clock.seconds = seconds
        pace.look(evaluations=0, writes=0, reachable=True, converged=converged)
    assert pace.busy_seconds == 3.0
    pace.look(evaluations=0, writes=0, reachable=True, converged=True)
    assert pace.busy_seconds == 0.0


def test_a_server_that_is_away_is_away_since_the_first_look(pace: Pace, clock: Clock) -> None:
    for _ in range(3):
        pace.look(evaluations=0, writes=0, reachable=False, converged=False)
        clock.seconds += 1
    assert pace.away_since == 100.0
    pace.look(evaluations=0, writes=0, reachable=True, converged=False)
    assert pace.away_since is None
