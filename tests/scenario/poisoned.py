"""A box system with poison: a box whose text is the name of a poison evaluates to that.

The engine runs with its own tasks over the memory store, with the real timer and small budgets, on whatever event loop
the test has. ``Heartbeat`` measures how long the loop was held.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest

from intentc.evaluation import BUDGET_EXCEEDED, PROCESS, Limits, Outcome, Runner
from intentc.model import Key
from intentc.watch.source import Source
from tests.support.box_system import POOL, BoxIntent, BoxSystem
from tests.support.waiting import PATIENCE, until
from tests.unit.evaluation.poisons import POISONS

_BEAT = 0.01


class Heartbeat:
    """``busy``: the most seconds of CPU that the loop's thread used between two beats. ``cuts``: the most evaluations
    that were cut off between two beats; some use no CPU. How late a beat is by the clock is the machine's affair, too.
    """

    def __init__(self) -> None:
        self.busy = 0.0
        self.cuts = 0

    async def run(self) -> None:
        while True:
            begun, before = time.thread_time(), _Counting.cuts
            await asyncio.sleep(_BEAT)
            self.busy = max(self.busy, time.thread_time() - begun)
            self.cuts = max(self.cuts, _Counting.cuts - before)


class _Counting(Runner):
    cuts = 0

    def run(self, key: Key) -> Outcome:
        outcome = super().run(key)
        _Counting.cuts += any(problem.reason == BUDGET_EXCEEDED for problem in outcome.problems)
        return outcome


def poison_boxes(monkeypatch: pytest.MonkeyPatch, limits: Limits) -> None:
    """From now on boxes may be poison, and evaluations have these limits."""
    healthy = BoxIntent.evaluate

    def evaluate(self: BoxIntent, ctx: Any) -> Iterable[Any]:
        poison = POISONS.get(self.text)
        found: Iterable[Any] = poison.body(self, ctx) if poison else healthy(self, ctx)
        return found

    monkeypatch.setattr(BoxIntent, "evaluate", evaluate)
    monkeypatch.setattr("intentc.engine.assembly.Runner", partial(_Counting, limits=limits))


@asynccontextmanager
async def running(box_system: BoxSystem) -> AsyncIterator[Heartbeat]:
    """The engine at work, evaluations bounded, a heart beating beside it."""
    heartbeat = Heartbeat()

    async def run() -> None:
        await box_system.engine.load_allocations()
        async with aclosing(Source(box_system.offline.store, "/contrail/").events()) as events:
            await box_system.engine.run(events)

    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    tasks = [asyncio.ensure_future(run()), asyncio.ensure_future(heartbeat.run())]
    try:
        with PROCESS.enforced(tick=0.02):
            yield heartbeat
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        box_system.close()


async def settled(box_system: BoxSystem) -> None:
    """All that was written until now is applied, and whatever is not held has converged."""
    unseen = box_system.offline.store.batches("/contrail/", box_system.engine.revision)
    with anyio.fail_after(PATIENCE):
        await box_system.engine.settled(max((batch.revision for batch in unseen), default=0))


async def held(box_system: BoxSystem, *names: str) -> None:
    """These boxes, and no others, are held."""
    wanted = {await box_system.key("box", name) for name in names}
    await until(lambda: {key for key, _ in box_system.engine.states.held.items()} == wanted)
