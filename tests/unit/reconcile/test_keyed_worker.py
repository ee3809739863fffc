"""The guarantees of the worker: a key that fails delays no other, and a server that is away is asked less and less."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from intentc.reconcile import KeyedWorker
from intentc.reconcile.backoff import Backoff
from tests.support.simulated_clock import now, simulate
from tests.support.waiting import until

_REQUEST = 0.01
"""Seconds that the work on one key takes."""


class _Denied(Exception):
    """About one key."""


class _Away(Exception):
    """About all keys."""


class _System:
    """``denied``: keys that fail; ``is_away``: whether all do. ``worked``: (time, key) of each attempt."""

    def __init__(self) -> None:
        self.denied: set[str] = set()
        self.is_away = False
        self.leads = True
        self.worked: list[tuple[float, str]] = []
        self.worker: KeyedWorker[str] = KeyedWorker(
            self._work,
            (_Denied, _Away),
            lambda error: 0.0 if isinstance(error, _Away) else None,
            may_work=lambda: self.leads,
            backoff=Backoff(0.2, 300.0),
            pause=Backoff(0.2, 30.0),
        )

    async def _work(self, key: str) -> None:
        self.worked.append((now(), key))
        await asyncio.sleep(_REQUEST)
        if self.is_away:
            raise _Away
        if key in self.denied:
            raise _Denied

    async def idle(self) -> None:
        await until(lambda: self.worker.idle)

    def is_done(self, key: str) -> bool:
        return not self.worker.is_due(key)

    def attempts_since(self, time: float, until: str) -> int:
        """Attempts that began since ``time``, before the first at ``until``."""
        keys = [key for at, key in self.worked if at >= time]
        return keys.index(until)


@pytest.mark.parametrize("count", [1, 10, 50])
def test_a_key_that_fails_delays_no_other_by_more_than_one_attempt(count: int) -> None:
    async def scenario() -> None:
        system = _System()
        system.denied = {f"denied-{number}" for number in range(count)}
        for key in sorted(system.denied):
            system.worker.add(key)
        running = asyncio.create_task(system.worker.run())
        for number in range(100):
            await asyncio.sleep(1.37)
            began, name = now(), f"good-{number}"
            system.worker.add(name)
            await until(partial(system.is_done, name))
            # The one that was under way when it came.
            assert system.attempts_since(began, name) <= 1
        running.cancel()

    simulate(scenario)


def test_a_key_that_fails_is_tried_less_and_less() -> None:
    async def scenario() -> None:
        system = _System()
        system.denied = {"a"}
        system.worker.add("a")
        running = asyncio.create_task(system.worker.run())
        await asyncio.sleep(3600)
        assert 12 <= len(system.worked) <= 36
        system.denied.clear()
        system.worker.end_backoff("a")
        await system.idle()
        system.denied = {"a"}
        before = len(system.worked)
        system.worker.add("a")
        await asyncio.sleep(1)
        # Its first failure again.
        assert len(system.worked) >= before + 2
        running.cancel()

    simulate(scenario)


def test_what_is_tried_unchanged_stays_in_its_back_off_and_what_changed_does_not() -> None:
    async def scenario() -> None:
        system = _System()
        system.denied = {"a"}
        system.worker.add("a")
        running = asyncio.create_task(system.worker.run())
        await asyncio.sleep(600)
        before = len(system.worked)
        for _ in range(1000):
            system.worker.add("a", unchanged=True)
        await asyncio.sleep(1)
        assert len(system.worked) <= before + 1
        before = len(system.worked)
        system.worker.add("a")
        await asyncio.sleep(1)
        assert len(system.worked) == before + 1
        running.cancel()

    simulate(scenario)


def test_when_what_all_need_is_away_all_wait_and_take_turns() -> None:
    async def scenario() -> None:
        system = _System()
        system.is_away = True
        for number in range(100):
            system.worker.add(f"key-{number}")
        running = asyncio.create_task(system.worker.run())
        await asyncio.sleep(600)
        assert len(system.worked) <= 60
        # Every eighth attempt may be one again.
        assert len({key for _, key in system.worked}) >= 0.8 * len(system.worked)
        system.is_away = False
        await system.idle()
        assert {key for _, key in system.worked} == {f"key-{number}" for number in range(100)}
        running.cancel()

    simulate(scenario)


def test_keys_wait_while_it_may_not_work() -> None:
    async def scenario() -> None:
        system = _System()
        system.leads = False
        system.worker.add("a")
        running = asyncio.create_task(system.worker.run())
        await asyncio.sleep(1)
        assert (system.worked, system.worker.idle) == ([], False)
        system.leads = True
        system.worker.wake()
        await system.idle()
        assert [key for _, key in system.worked] == ["a"]
        running.cancel()

    simulate(scenario)


def test_a_back_off_ends_when_there_may_be_nothing_to_do_any_more() -> None:
    async def scenario() -> None:
        system = _System()
        system.denied = {"a"}
        system.worker.add("a")
        running = asyncio.create_task(system.worker.run())
        await asyncio.sleep(600)
        system.denied.clear()
        began = now()
        system.worker.end_backoff("a")
        await system.idle()
        assert system.attempts_since(began, "a") == 0
        running.cancel()

    simulate(scenario)
