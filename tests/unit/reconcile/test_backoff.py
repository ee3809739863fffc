"""Waits between attempts grow, are shortened at random, and start anew only after a time without failures."""

from __future__ import annotations

import pytest

from intentc.reconcile.backoff import Backoff, Retries


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 0.005), (2, 0.010), (3, 0.020), (8, 0.640), (14, 40.96), (15, 60.0), (1000, 60.0), (100_000, 60.0)],
)
def test_waits_double_from_the_first_to_the_last(failures: int, seconds: float) -> None:
    assert Backoff(0.005, 60.0, jitter=0).seconds(failures) == pytest.approx(seconds)


def test_chance_takes_away_at_most_the_jitter() -> None:
    assert Backoff(1.0, 60.0).seconds(99, chance=lambda: 0.0) == pytest.approx(30.0)
    assert Backoff(1.0, 60.0, jitter=0.25).seconds(99, chance=lambda: 0.0) == pytest.approx(45.0)
    assert Backoff(1.0, 60.0).seconds(99, chance=lambda: 1.0) == pytest.approx(60.0)


def test_users_that_failed_together_return_apart() -> None:
    backoff = Backoff(0.005, 60.0)
    assert len({backoff.seconds(10) for _ in range(50)}) > 40


def test_failures_in_a_row_make_the_waits_longer() -> None:
    retries = Retries(Backoff(0.1, 0.5, jitter=0))
    assert [retries.next_wait() for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]


def test_a_flapping_connection_does_not_start_the_waits_anew() -> None:
    clock = Clock()
    retries = Retries(Backoff(1.0, 8.0, jitter=0), clock=clock)
    waits = []
    for _ in range(5):
        retries.went_well()
        clock.now += 0.2
        waits.append(retries.next_wait())
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_after_a_time_without_failures_the_waits_start_anew() -> None:
    clock = Clock()
    retries = Retries(Backoff(1.0, 8.0, jitter=0), clock=clock)
    for _ in range(3):
        retries.next_wait()
    retries.went_well()
    clock.now += 10
    assert retries.next_wait() == 1.0
