"""Waits between attempts grow, are shortened at random, and start anew only after a time without failures."""

from __future__ import annotations

from intentc.watch.backoff import Backoff, BackoffSettings


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_waits_double_up_to_the_longest() -> None:
    backoff = Backoff(BackoffSettings(first=0.1, longest=0.5), chance=lambda: 1.0)
    assert [backoff.next_wait() for _ in range(5)] == [0.1, 0.2, 0.4, 0.5, 0.5]


def test_chance_takes_up_to_half_away() -> None:
    backoff = Backoff(BackoffSettings(first=1.0, longest=1.0), chance=lambda: 0.0)
    assert backoff.next_wait() == 0.5


def test_a_flapping_connection_does_not_start_the_waits_anew() -> None:
    clock = Clock()
    backoff = Backoff(BackoffSettings(first=1.0, longest=8.0), clock=clock, chance=lambda: 1.0)
    waits = []
    for _ in range(5):
        backoff.went_well()
        clock.now += 0.2
        waits.append(backoff.next_wait())
    assert waits == [1.0, 2.0, 4.0, 8.0, 8.0]


def test_after_a_time_without_failures_the_waits_start_anew() -> None:
    clock = Clock()
    backoff = Backoff(BackoffSettings(first=1.0, longest=8.0), clock=clock, chance=lambda: 1.0)
    for _ in range(3):
        backoff.next_wait()
    backoff.went_well()
    clock.now += 10
    assert backoff.next_wait() == 1.0
