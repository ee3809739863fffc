"""Once nobody writes any more, contention ends within the pause that has begun, which answers show; in simulated time.

A quarter of an hour of edits by hand, mixed with changes of the inputs, left objects alone for an hour: each change and
the edit after it counted as one more round.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest

from intentc.inspection.pending_work import at, attention
from intentc.reconcile.backoff import CONTENDED, CONTENTION_REVERTS
from tests.simulation.simulated_clock import now, simulate
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status

BOXES = ("a", "b", "c")
EDITING_SECONDS = 900.0
LONGEST_PAUSE = EDITING_SECONDS + CONTENDED.first


async def begun(*boxes: str) -> BoxSystem:
    system = await BoxSystem(clock=now).begin()
    await system.boxes(*boxes)
    return system


async def edit(system: BoxSystem, box: str, content: str) -> None:
    await system.offline.server.update(await system.key("part", box, "one"), {"content": content})
    await system.settle()


async def pass_seconds(system: BoxSystem, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await system.settle()


def contended(system: BoxSystem) -> list[dict[str, Any]]:
    return [entry for entry in engine_status(system.engine)["quarantine"] if entry["state"] == "contended"]


@pytest.mark.parametrize("seed", range(3))
def test_after_a_quarter_of_an_hour_of_edits_all_is_repaired_within_a_pause(seed: int) -> None:
    async def body() -> None:
        chance, system = random.Random(seed), await begun(*BOXES)
        texts = dict.fromkeys(BOXES, "hello")
        start, count = now(), 0
        while now() - start < EDITING_SECONDS:
            count += 1
            box = chance.choice(BOXES)
            if chance.random() < 0.2:
                texts[box] = f"text {count}"
                await system.change(box, text=texts[box])
            else:
                await edit(system, box, f"mine {count}")
            await pass_seconds(system, chance.uniform(0, 4))
        assert contended(system)

        longest = max(entry["next_try"] - time.time() for entry in contended(system))
        assert longest <= LONGEST_PAUSE
        await pass_seconds(system, longest + 1)
        assert contended(system) == []
        assert await system.contents() == texts
        status = engine_status(system.engine)
        assert status["converged"] and status["healthy"]
        system.close()

    simulate(body, seed=seed)


def test_edits_during_a_pause_do_not_lengthen_it() -> None:
    async def body() -> None:
        system = await begun("a")
        for _ in range(CONTENTION_REVERTS):
            await edit(system, "a", "mine")
        began = now()
        while now() - began < CONTENDED.first - 5:
            await pass_seconds(system, 1)
            await edit(system, "a", f"mine at {now()}")
        assert contended(system)
        await pass_seconds(system, CONTENDED.first - (now() - began) + 1)
        assert contended(system) == []
        assert await system.contents() == {"a": "hello"}
        system.close()

    simulate(body)


def test_the_status_says_in_one_line_when_the_next_try_is() -> None:
    async def body() -> None:
        system = await begun("a")
        for _ in range(CONTENTION_REVERTS):
            await edit(system, "a", "mine")
        (line,) = attention(system.engine, 0, ())
        (entry,) = contended(system)
        due = {at(entry["next_try"] + seconds) for seconds in range(-10, 11)}
        assert line.startswith("reverted by another writer: part a:one, next try at ")
        assert line.removeprefix("reverted by another writer: part a:one, next try at ").partition(": `")[0] in due
        system.close()

    simulate(body)


def test_a_part_that_stood_for_a_pause_begins_anew() -> None:
    async def body() -> None:
        system = await begun("a")
        for _ in range(CONTENTION_REVERTS):
            await edit(system, "a", "mine")
        await pass_seconds(system, CONTENDED.first + 1)
        await edit(system, "a", "mine")
        (entry,) = contended(system)
        assert entry["next_try"] - time.time() == pytest.approx(2 * CONTENDED.first, abs=10)
        await pass_seconds(system, 2 * CONTENDED.first + 1)
        await pass_seconds(system, 2 * CONTENDED.first + 1)
        for _ in range(CONTENTION_REVERTS - 1):
            await edit(system, "a", "mine")
            assert contended(system) == [], "it is repaired at once again"
        await edit(system, "a", "mine")
        (entry,) = contended(system)
        assert entry["next_try"] - time.time() == pytest.approx(CONTENDED.first, abs=10)
        system.close()

    simulate(body)
