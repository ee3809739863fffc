"""Simulated time: it passes at once, for whoever waits in the loop, and for nobody else."""

from __future__ import annotations

import asyncio
import random
import time

import anyio
import pytest
from anyio import to_thread

from tests.simulation.simulated_clock import NothingWillHappen, now, simulate


def test_an_hour_passes_at_once() -> None:
    began = time.monotonic()

    async def wait() -> float:
        await asyncio.sleep(3600)
        return now()

    assert simulate(wait) == pytest.approx(3600, abs=0.1)
    assert time.monotonic() - began < 60


def test_the_shorter_wait_wakes_first() -> None:
    woken: list[float] = []

    async def wait(seconds: float) -> None:
        await anyio.sleep(seconds)
        woken.append(seconds)

    async def all_wait() -> None:
        async with anyio.create_task_group() as group:
            for seconds in (3.0, 1.0, 2.0):
                group.start_soon(wait, seconds)

    simulate(all_wait)
    assert woken == [1.0, 2.0, 3.0]


def test_a_timeout_runs_out_though_nobody_waits_for_real() -> None:
    async def wait() -> bool:
        with anyio.move_on_after(5) as scope:
            await anyio.sleep(10)
        return scope.cancelled_caught

    assert simulate(wait)


def test_time_passes_for_whoever_never_waits_long() -> None:
    async def spin() -> int:
        turns = 0
        while now() < 1:
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert simulate(spin) > 1000


def test_a_program_that_hangs_is_found_out() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingWillHappen):
        simulate(hang)


def test_chance_follows_the_seed_and_is_left_as_it_was() -> None:
    async def draw() -> float:
        return random.random()

    before = random.getstate()
    assert simulate(draw, seed=1) == simulate(draw, seed=1) != simulate(draw, seed=2)
    assert random.getstate() == before


def test_work_for_a_thread_is_done_in_place() -> None:
    async def elsewhere() -> int:
        return await to_thread.run_sync(lambda: 7)

    assert simulate(elsewhere) == 7
