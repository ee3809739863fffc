"""The arithmetic of back-offs."""

from __future__ import annotations

import pytest

from intentc.queue import Backoff


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(1, 0.005), (2, 0.010), (3, 0.020), (8, 0.640), (14, 40.96), (15, 60.0), (1000, 60.0), (100_000, 60.0)],
)
def test_delays_double_from_five_milliseconds_to_a_minute(failures: int, seconds: float) -> None:
    assert Backoff(random=lambda: 1.0).seconds(failures) == pytest.approx(seconds)


def test_jitter_takes_at_most_half_of_a_delay() -> None:
    assert Backoff(random=lambda: 0.0).seconds(1) == pytest.approx(0.0025)
    assert Backoff(random=lambda: 0.0).seconds(99) == pytest.approx(30.0)


def test_keys_that_failed_together_come_back_apart() -> None:
    backoff = Backoff()
    assert len({backoff.seconds(10) for _ in range(50)}) > 40
