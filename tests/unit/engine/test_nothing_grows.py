"""Deleted intents leave nothing in memory, in whichever table it may be kept (F25)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from typing import Any

import anyio
import pytest

from intentc.model import Delete
from intentc.reconcile.failures import Conflict, Rejected, Throttled
from intentc.writing import Written
from tests.support.box_system import POOL, BoxSystem
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

_BOUNDED = {"journal", "_journal", "_getters"}
"""By its size, and by the number of workers."""
_NOT_THE_ENGINES = {"write", "_write", "_writer", "read", "_reader", "schema"}


@pytest.fixture
async def box_system() -> BoxSystem:
    """A box system whose engine does not run yet, with back-offs as in life."""
    box_system = BoxSystem()
    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    return box_system


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


def sizes(box_system: BoxSystem) -> dict[str, int]:
    return dict(tables(box_system.engine, "engine", set()))


async def generation(box_system: BoxSystem, number: int) -> None:
    """Boxes of every sort come and go; some of their writes fail once."""
    names = {sort: f"{sort}-{number}" for sort in ("plain", "numbered", "failing", "rejected", "delayed", "stale")}
    box_system.write.failures[names["rejected"]] = [Rejected(422, "no such colour")]
    box_system.write.failures[names["delayed"]] = [Throttled(0.001)]
    box_system.write.failures[names["stale"]] = [Conflict(409, "stale")] * 4
    for sort, name in names.items():
        text = {"numbered": "number", "failing": "fail"}.get(sort, "hello")
        await box_system.boxes(name, text=text, settle=False)
    await quiet(box_system)
    await box_system.remove(*names.values(), settle=False)
    await quiet(box_system)


async def quiet(box_system: BoxSystem) -> None:
    """Everything is applied, and nothing is under way; things may be deferred."""
    batches = box_system.offline.store.batches
    await until(lambda: not batches("/contrail/", box_system.engine.revision) and box_system.engine.quiet)


async def test_what_is_gone_is_remembered_nowhere(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.engine.engine._READ_BACK_PERIOD", 0.01)
    monkeypatch.setattr("intentc.planning.assumed.PATIENCE", 0.01)
    monkeypatch.setattr("intentc.engine.evaluator._EXPENSIVE", 0.0)
    monkeypatch.setattr("intentc.engine.evaluator._COOLDOWN", 0.01)
    async with box_system.running():
        await box_system.boxes("stays", settle=False)
        await generation(box_system, 0)
        assert len(sizes(box_system)) >= 20
        before: dict[str, int] = {}
        for number in range(1, 6):
            await generation(box_system, number)
            before = before or sizes(box_system)
        with anyio.move_on_after(5):
            while grown(before, sizes(box_system)):
                await anyio.lowlevel.checkpoint()
        assert grown(before, sizes(box_system)) == {}


async def test_an_object_whose_delete_was_seen_before_it_was_answered_is_remembered_nowhere(
    box_system: BoxSystem,
) -> None:
    delete = box_system.write.delete

    async def late(operation: Delete, fence: str | None = None, /) -> Written:
        written = await delete(operation, fence)
        assert written.revision is not None
        await until(lambda: box_system.engine.revision >= (written.revision or 0))
        return written

    box_system.write.delete = late  # type: ignore[method-assign]
    await box_system.boxes("a", "b", settle=False)
    async with box_system.running():
        await box_system.settled()
        assert box_system.engine._marked.marks.of((await box_system.key("box", "a")).uuid)
        await box_system.remove("a", "b", settle=False)
        await box_system.settled()
        marked = box_system.engine._marked
        others = {id(one) for one in (marked._book, marked._planner, marked._objects, marked.marks._assumed)}
        assert set(dict(tables(marked, "", others)).values()) == {0}


def grown(before: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    return {path: size for path, size in now.items() if size > before.get(path, 0)}
