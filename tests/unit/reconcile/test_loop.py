"""What the loop promises: one worker a key, no key lost, no key delayed by another's failures."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intentc.reconcile import Loop, Pause, RequeueAfter, Result
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Denied, Failure, Rejected, Throttled, Unavailable
from tests.simulation.simulated_clock import now, simulate
from tests.support.waiting import until

_REQUEST = 0.01
"""Seconds that the work on one key takes."""


class _System:
    """``failures``: key → what its runs raise. ``away``: what all runs raise. ``worked``: (time, key) of each run."""

    def __init__(self, *, workers: int = 1, order: Callable[[str], Any] | None = None) -> None:
        self.failures: dict[str, Callable[[], Exception]] = {}
        self.away: Callable[[], Exception] | None = None
        self.is_open = True
        self.wanted: dict[str, int] = {}
        self.made: dict[str, int] = {}
        self.under_way: set[str] = set()
        self.violations: list[str] = []
        self.worked: list[tuple[float, str]] = []
        self._is_in_order = order is not None
        self.loop: Loop[str] = Loop(
            self._reconcile,
            workers=workers,
            gate=lambda: 0.0 if self.is_open else math.inf,
            backoff=Backoff(0.2, 300.0),
            order=order,
            stage=self._stage,
            on_failure=lambda key, error: None,
        )

    def _reconcile(self, key: str) -> Result | Coroutine[Any, Any, Result]:
        if not self.is_open:
            self.violations.append(f"{key} is begun although the gate is closed")
        if key in self.under_way:
            self.violations.append(f"{key} has two workers")
        self.worked.append((now(), key))
        if key.startswith("sync"):
            return self._finish(key, self.wanted.get(key, 0))
        return self._write(key)

    def _stage(self, key: str) -> str:
        return key[-1] if self._is_in_order else ""

    async def _write(self, key: str) -> Result:
        self.under_way.add(key)
        if len({self._stage(one) for one in self.under_way}) > 1:
            self.violations.append(f"{key} is worked on at the same time as a key of another stage")
        version = self.wanted.get(key, 0)
        try:
            await asyncio.sleep(_REQUEST)
            return self._finish(key, version)
        finally:
            self.under_way.discard(key)

    def _finish(self, key: str, version: int) -> Result:
        if self.away is not None:
            raise self.away()
        if key in self.failures:
            raise self.failures[key]()
        if key.endswith("later") and self.made.get(key) != version:
            self.made[key] = version
            return RequeueAfter(3.0)
        self.made[key] = version
        return None

    def want(self, key: str, *, resync: bool = False, after: float = 0.0) -> None:
        self.wanted[key] = self.wanted.get(key, 0) + 1
        self.loop.add(key, resync=resync, after=after)

    def recover(self) -> None:
        """Let everything succeed from now on."""
        self.failures.clear()
        self.away = None
        self.is_open = True
        self.loop.wake()

    def is_done(self, key: str) -> bool:
        return not self.loop.queue.busy(key)

    def attempts_since(self, time: float, until: str) -> int:
        """Attempts that began since ``time``, before the first at ``until``."""
        keys = [key for at, key in self.worked if at >= time]
        return keys.index(until)


async def _settled(loop: Loop[str]) -> None:
    while not loop.settled:  # noqa: ASYNC110 - a back-off may be 5 minutes of simulated time
        await asyncio.sleep(0.01)


_FAILURES: dict[str, Callable[[], Exception]] = {
    "denied": lambda: Denied("no"),
    "rejected": lambda: Rejected(400, "no"),
    "conflict": lambda: Conflict(409, "no"),
    "throttled": lambda: Throttled(5.0),
    "away": lambda: Unavailable("no answer"),
    "fault": lambda: KeyError("of our own"),
}
_KEYS = st.sampled_from(["a", "b", "c", "d-later", "sync-e", "sync-f", "sync-later"])
_STEPS = st.one_of(
    st.tuples(st.sampled_from(["want", "want", "resync", "want later", "end_backoff"]), _KEYS),
    st.tuples(st.just("fail"), _KEYS, st.sampled_from(sorted(_FAILURES))),
    st.tuples(st.just("all fail"), st.sampled_from(["throttled", "away"])),
    st.tuples(st.sampled_from(["recover", "close", "open"])),
    st.tuples(st.just("wait"), st.sampled_from([0.0, _REQUEST / 2, _REQUEST, 1.0, 50.0])),
)


def _take(system: _System, step: tuple[Any, ...]) -> None:
    match step:
        case ("want", key):
            system.want(key)
        case ("resync", key):
            system.want(key, resync=True)
        case ("want later", key):
            system.want(key, after=2.0)
        case ("end_backoff", key):
            system.loop.end_backoff(key)
        case ("fail", key, failure):
            system.failures[key] = _FAILURES[failure]
        case ("all fail", failure):
            system.away = _FAILURES[failure]
        case ("recover",):
            system.recover()
        case ("close",):
            system.is_open = False
        case ("open",):
            system.is_open = True
            system.loop.wake()


@settings(deadline=None, max_examples=150)
@given(st.lists(_STEPS, max_size=40), st.integers(1, 4), st.booleans())
def test_a_key_has_one_worker_and_is_not_lost(steps: list[tuple[Any, ...]], workers: int, in_order: bool) -> None:
    async def scenario() -> None:
        system = _System(workers=workers, order=str if in_order else None)
        running = asyncio.create_task(system.loop.run())
        for step in steps:
            if step[0] == "wait":
                await asyncio.sleep(step[1])
            else:
                _take(system, step)
        system.recover()
        await _settled(system.loop)
        assert system.made == system.wanted
        assert not (system.under_way or system.violations)
        running.cancel()

    simulate(scenario)


@pytest.mark.parametrize("count", [1, 10, 50])
def test_a_denied_key_delays_no_other_by_more_than_one_attempt(count: int) -> None:
    async def scenario() -> None:
        system = _System()
        for number in range(count):
            system.failures[f"denied-{number}"] = _FAILURES["denied"]
            system.want(f"denied-{number}")
        running = asyncio.create_task(system.loop.run())
        for number in range(100):
            await asyncio.sleep(1.37)
            began, name = now(), f"good-{number}"
            system.want(name)
            await until(partial(system.is_done, name))
            # The one that was under way when it came.
            assert system.attempts_since(began, name) <= 1
        running.cancel()

    simulate(scenario)


def test_a_key_that_fails_is_tried_less_and_less() -> None:
    async def scenario() -> None:
        system = _System()
        system.failures["a"] = _FAILURES["denied"]
        system.want("a")
        running = asyncio.create_task(system.loop.run())
        await asyncio.sleep(3600)
        assert 12 <= len(system.worked) <= 36
        # What is tried unchanged stays in its back-off.
        before = len(system.worked)
        for _ in range(1000):
            system.loop.add("a", unchanged=True)
        await asyncio.sleep(1)
        assert len(system.worked) <= before + 1
        system.failures.clear()
        system.loop.end_backoff("a")
        await _settled(system.loop)
        system.failures["a"] = _FAILURES["denied"]
        before = len(system.worked)
        system.want("a")
        await asyncio.sleep(1)
        # Its first failure again.
        assert len(system.worked) >= before + 2
        running.cancel()

    simulate(scenario)


def test_a_key_that_is_added_for_later_runs_then_or_when_it_is_added_before() -> None:
    async def scenario() -> None:
        system = _System()
        running = asyncio.create_task(system.loop.run())
        system.want("a", after=10.0)
        system.want("b", after=10.0)
        await asyncio.sleep(5)
        assert not system.worked
        system.want("b")
        await asyncio.sleep(20)
        assert [(round(at), key) for at, key in system.worked] == [(5, "b"), (10, "a")]
        running.cancel()

    simulate(scenario)


def test_when_the_system_is_away_all_wait_and_take_turns() -> None:
    async def scenario() -> None:
        system = _System(workers=3)
        system.away = _FAILURES["away"]
        for number in range(100):
            system.want(f"key-{number}")
        running = asyncio.create_task(system.loop.run())
        await asyncio.sleep(600)
        assert len(system.worked) <= 180
        # Every eighth attempt may be one again.
        assert len({key for _, key in system.worked}) >= min(100, 0.8 * len(system.worked))
        system.recover()
        await _settled(system.loop)
        assert system.made == system.wanted
        running.cancel()

    simulate(scenario)


def test_a_key_at_which_the_system_fails_alone_comes_to_wait_alone() -> None:
    async def scenario() -> None:
        system = _System()
        system.failures["bad"] = lambda: Throttled(100.0)
        system.want("bad")
        running = asyncio.create_task(system.loop.run())
        await asyncio.sleep(1)
        system.want("good")
        await until(lambda: system.is_done("good"))
        # It had to wait for the first pause.
        assert now() > 90
        await asyncio.sleep(200)
        began = now()
        system.want("good")
        await until(lambda: system.is_done("good"))
        assert now() - began < 1
        running.cancel()

    simulate(scenario)


def test_loops_of_one_system_share_its_pause() -> None:
    async def scenario() -> None:
        pause = Pause()
        asked: list[float] = []

        def fail(key: str) -> Result:
            raise Throttled(60.0)

        first: Loop[str] = Loop(fail, pause=pause)
        second: Loop[str] = Loop(lambda key: asked.append(now()), pause=pause)
        running = [asyncio.create_task(first.run()), asyncio.create_task(second.run())]
        first.add("a")
        await asyncio.sleep(1)
        second.add("b")
        await _settled(second)
        assert asked[0] >= 60
        for task in running:
            task.cancel()

    simulate(scenario)


def test_a_failure_sets_the_least_wait_and_the_back_off() -> None:
    class _CutOff(Failure):
        backoff = Backoff(60.0, 3840.0, jitter=0)

    async def scenario() -> None:
        system = _System()
        system.failures |= {"cut": _CutOff, "asks": lambda: Unavailable("", 30.0, concerns_all=False)}
        system.want("cut")
        system.want("asks")
        running = asyncio.create_task(system.loop.run())
        await asyncio.sleep(100)
        times = {name: [at for at, key in system.worked if key == name] for name in ("cut", "asks")}
        assert [round(at) for at in times["cut"]] == [0, 60]
        assert [round(at) for at in times["asks"]] == [0, 30, 60, 90]
        running.cancel()

    simulate(scenario)


def test_work_that_waits_for_nothing_leaves_turns_to_others() -> None:
    async def scenario() -> None:
        endless: Loop[str] = Loop(lambda key: endless.add(key))
        endless.add("a")
        running = asyncio.create_task(endless.run())
        for _ in range(10):
            await asyncio.sleep(0)
        running.cancel()
        assert endless.runs > 10

    # In simulated time, work takes no time.
    asyncio.run(scenario())


def test_the_end_gives_work_under_way_its_time_and_loses_no_key() -> None:
    async def scenario() -> None:
        system = _System(workers=2)
        for key in ("a", "b", "c"):
            system.want(key)
        running = asyncio.create_task(system.loop.run(drain=False))
        await asyncio.sleep(_REQUEST / 2)
        running.cancel()
        await asyncio.wait([running])
        await system.loop.drain(1.0)
        assert (system.made, system.loop.queue.waiting) == ({"a": 1, "b": 1}, 1)
        again = asyncio.create_task(system.loop.run())
        await asyncio.sleep(_REQUEST / 2)
        again.cancel()
        await asyncio.wait([again])
        assert (system.under_way, system.loop.queue.waiting) == (set(), 1)

    simulate(scenario)


def test_an_exception_of_on_failure_ends_the_loop() -> None:
    async def scenario() -> None:
        def stop(key: str, error: Exception) -> None:
            raise error

        async def fail(key: str) -> Result:
            raise Rejected(400, key)

        loop: Loop[str] = Loop(fail, on_failure=stop)
        loop.add("a")
        with pytest.raises(Rejected):
            await loop.run()
        with pytest.raises(Rejected):
            await loop.step()

    simulate(scenario)


def test_a_step_serves_what_waits_in_order_until_the_gate_closes() -> None:
    async def scenario() -> None:
        system = _System(order=str)
        for key in ("c", "sync-b", "a"):
            system.want(key)
        system.is_open = False
        assert not await system.loop.step()
        system.is_open = True
        assert await system.loop.step()
        assert [key for _, key in system.worked] == ["a", "c", "sync-b"]
        assert not await system.loop.step()
        assert system.loop.settled

    simulate(scenario)
