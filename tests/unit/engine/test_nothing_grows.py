"""Deleted intents leave nothing in memory, in whichever table it may be kept (F25)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from typing import Any

import anyio
import pytest

from intentc.model import Delete
from intentc.writing import Conflict, Rejected, Throttled, Written
from tests.support.box_system import POOL, BoxSystem
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

_BOUNDED = {"journal", "_journal", "_getters"}
"""By its size, and by the number of workers."""
_NOT_THE_ENGINES = {"write", "_write", "read", "_read", "schema"}


@pytest.fixture
async def plant() -> BoxSystem:
    """A plant whose engine does not run yet, with back-offs as in life."""
    plant = BoxSystem()
    await plant.offline.server.ensure_pool(POOL, 1, 1000)
    return plant


def tables(thing: Any, path: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    """Every table that can be reached through attributes of objects of ours, with the number of its entries."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    slots = {crash_marker for base in type(thing).__mro__ for crash_marker in getattr(base, "__slots__", ())}
    for name in {*getattr(thing, "__dict__", ()), *slots} - _BOUNDED - _NOT_THE_ENGINES:
        value = getattr(thing, name, None)
        if isinstance(value, Mapping | AbstractSet | list | deque) and isinstance(value, Sized):
            yield f"{path}.{name}", len(value)
        elif type(value).__module__.startswith("intentc."):
            yield from tables(value, f"{path}.{name}", seen)


def sizes(plant: BoxSystem) -> dict[str, int]:
    return dict(tables(plant.engine, "engine", set()))


async def generation(plant: BoxSystem, number: int) -> None:
    """Boxes of every sort come and go; some of their writes fail once."""
    names = {sort: f"{sort}-{number}" for sort in ("plain", "numbered", "failing", "refused", "delayed", "stale")}
    plant.write.failures[names["refused"]] = [Rejected(422, "no such colour")]
    plant.write.failures[names["delayed"]] = [Throttled(0.001)]
    plant.write.failures[names["stale"]] = [Conflict(409, "stale")] * 4
    for sort, name in names.items():
        text = {"numbered": "number", "failing": "fail"}.get(sort, "hello")
        await plant.boxes(name, text=text, settle=False)
    await quiet(plant)
    await plant.remove(*names.values(), settle=False)
    await quiet(plant)


async def quiet(plant: BoxSystem) -> None:
    """Everything is applied, and nothing is under way; things may be deferred."""
    batches = plant.offline.store.batches
    await until(lambda: not batches("/contrail/", plant.engine.revision) and plant.engine.quiet)


async def test_what_is_gone_is_remembered_nowhere(plant: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.engine.engine._READ_BACK_PERIOD", 0.01)
    monkeypatch.setattr("intentc.planning.assumed.PATIENCE", 0.01)
    monkeypatch.setattr("intentc.engine.evaluator._EXPENSIVE", 0.0)
    monkeypatch.setattr("intentc.engine.evaluator._COOLDOWN", 0.01)
    async with plant.running():
        await plant.boxes("stays", settle=False)
        await generation(plant, 0)
        assert len(sizes(plant)) >= 20
        before: dict[str, int] = {}
        for number in range(1, 6):
            await generation(plant, number)
            before = before or sizes(plant)
        with anyio.move_on_after(5):
            while grown(before, sizes(plant)):
                await anyio.lowlevel.checkpoint()
        assert grown(before, sizes(plant)) == {}


async def test_an_object_whose_delete_was_seen_before_it_was_answered_is_remembered_nowhere(plant: BoxSystem) -> None:
    delete = plant.write.delete

    async def late(operation: Delete, fence: str | None = None, /) -> Written:
        written = await delete(operation, fence)
        assert written.revision is not None
        await until(lambda: plant.engine.revision >= (written.revision or 0))
        return written

    plant.write.delete = late  # type: ignore[method-assign]
    await plant.boxes("a", "b", settle=False)
    async with plant.running():
        await plant.settled()
        assert plant.engine._carriers.of((await plant.key("box", "a")).uuid)
        await plant.remove("a", "b", settle=False)
        await plant.settled()
        carriers = plant.engine._carriers
        others = {id(carriers._assumed), id(carriers._book), id(carriers._objects)}
        assert set(dict(tables(carriers, "", others)).values()) == {0}


def grown(before: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    return {path: size for path, size in now.items() if size > before.get(path, 0)}
