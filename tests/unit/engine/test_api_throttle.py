"""No requests are sent while the server is unreachable or asks for a pause; one throttled key delays no other (F15)."""

from __future__ import annotations

import asyncio

import pytest

from intentc.engine.api_throttle import ApiThrottle
from intentc.reconcile.failures import Throttled, Unavailable
from tests.support.box_system import BoxSystem
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_pause_that_the_server_asks_for_is_everybodys() -> None:
    throttle = ApiThrottle()
    assert throttle.failed(Throttled(100.0), "a")
    assert 99.0 < throttle.seconds <= 100.0
    assert throttle.reachable, "it answered"


async def test_a_key_throttled_while_others_are_answered_waits_alone() -> None:
    throttle = ApiThrottle()
    throttle.failed(Throttled(0.0), "a")
    throttle.accepted("b")
    assert not throttle.failed(Throttled(300.0), "a")
    assert throttle.seconds < 1.0


async def test_a_key_throttled_while_none_is_answered_pauses_all_again() -> None:
    throttle = ApiThrottle()
    throttle.failed(Throttled(0.0), "a")
    assert throttle.failed(Throttled(300.0), "a")
    assert throttle.seconds > 299.0


async def test_a_server_that_is_away_stays_unreachable_until_it_answers() -> None:
    throttle = ApiThrottle()
    throttle.failed(Unavailable("connection refused"), "b")
    assert not throttle.reachable
    throttle.answered("a")
    assert not throttle.reachable, "a run without a request says nothing"
    throttle.accepted("a")
    assert throttle.reachable


async def test_failures_of_one_outage_count_once(caplog: pytest.LogCaptureFixture) -> None:
    throttle = ApiThrottle()
    for _ in range(100):
        throttle.failed(Unavailable("connection refused"), "a")
    assert len(caplog.records) == 1


async def test_a_limit_of_writes_per_second_is_kept() -> None:
    throttle = ApiThrottle(writes_per_second=100)
    assert throttle.gate() == 0.0
    throttle.spend(5)
    assert 0.0 < throttle.gate() <= 0.05


async def test_after_a_throttled_write_nobody_asks_before_the_pause_is_over(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    box_system.write.failures["a"] = [Throttled(0.2)]
    async with box_system.running():
        await asyncio.wait_for(_asked(box_system, "create a"), PATIENCE)
        await box_system.boxes("b", settle=False)
        await box_system.settled()
    assert asked_at(box_system, "create b") >= asked_at(box_system, "create a") + 0.2
    assert await box_system.contents() == {"a": "hello", "b": "hello"}


def asked_at(box_system: BoxSystem, entry: str) -> float:
    """When it was asked for first, by the loop's clock."""
    return box_system.write.times[box_system.write.log.index(entry)]


async def _asked(box_system: BoxSystem, entry: str) -> None:
    while entry not in box_system.write.log:  # noqa: ASYNC110 - the log is a list without notifications
        await asyncio.sleep(0.005)
