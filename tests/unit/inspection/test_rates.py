"""Rates over the last ten seconds, and since when things stand as they do."""

from __future__ import annotations

import pytest

from intentc.inspection.status_tables import Rates


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
def rates(clock: Clock) -> Rates:
    return Rates(clock, clock)


def test_without_a_look_nothing_is_reported_of_rates(rates: Rates) -> None:
    assert rates.rates() == {"evaluations": 0.0, "writes": 0.0}


def test_rates_are_of_the_last_ten_seconds(rates: Rates, clock: Clock) -> None:
    for second in range(31):
        clock.seconds = float(second)
        busy = min(second, 20)
        rates.look(evaluations=1000 + 50 * busy, writes=5 * busy, reachable=True, converged=True)
        if second == 20:
            assert rates.rates() == {"evaluations": 50.0, "writes": 5.0}
        if second == 25:
            assert rates.rates() == {"evaluations": 25.0, "writes": 2.5}
    assert rates.rates() == {"evaluations": 0.0, "writes": 0.0}


def test_being_busy_is_reported_from_its_beginning(rates: Rates, clock: Clock) -> None:
    for seconds, converged in ((100.0, True), (101.0, False), (102.0, False), (104.0, False)):
        clock.seconds = seconds
        rates.look(evaluations=0, writes=0, reachable=True, converged=converged)
    assert rates.busy_seconds == 3.0
    rates.look(evaluations=0, writes=0, reachable=True, converged=True)
    assert rates.busy_seconds == 0.0


def test_a_server_that_is_away_is_away_since_the_first_look(rates: Rates, clock: Clock) -> None:
    for _ in range(3):
        rates.look(evaluations=0, writes=0, reachable=False, converged=False)
        clock.seconds += 1
    assert rates.away_since == 100.0
    rates.look(evaluations=0, writes=0, reachable=True, converged=False)
    assert rates.away_since is None
