"""The units whose instructions are counted (``instructions.py``): each is compiled, planned, written and seen again.

The engine serves as it does beside etcd and an API server, over a store in this process. Its loop's clock moves only
when nothing else is left to do, so neither the machine's speed nor valgrind's decides when tasks take turns.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Any

from intentc.engine.assembly import assemble
from intentc.model import Batch, Change, Snapshot
from intentc.plugins import Loaded, find_compilers, load_all
from tests.perf import gateway_world, made
from tests.perf.gateway_world import Store

Items = Iterable[Snapshot | Batch]
_AT_ONCE = 100
"""Groups in one revision, as in the other benches."""
_IDLE = 0.001
"""Seconds of the loop's clock: it reaches them when nothing else is left to do."""


class _StillSelector(selectors.DefaultSelector):
    """Waits for nothing: it moves the clock instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += timeout
        return super().select(0)


def _still_loop() -> asyncio.AbstractEventLoop:
    selector = _StillSelector()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    return loop


def _groups(store: Store, count: int, most: int) -> Items:
    values = [made.security_group(place) for place in range(most)][:count]
    yield Snapshot(1, (_change(made.project(), 1),))
    for begin in range(0, count, _AT_ONCE):
        store.revision += 1
        coming = values[begin : begin + _AT_ONCE]
        yield Batch(store.revision, tuple(_change(value, store.revision) for value in coming))


def _change(item: tuple[str, bytes], revision: int) -> Change:
    kind, uuid = item[0].split("/")[-2:]
    return Change(kind, uuid, item[1], revision, revision)


def _mappings(store: Store, count: int, most: int) -> Items:
    given = [store.put(kind, value) for kind, value in gateway_world.world(most, 0, False)]
    # A Listener and a Host, and three resources for each.
    yield Snapshot(store.revision, tuple(given[: 2 + 3 * count]))


UNITS: dict[str, tuple[str, dict[str, Any], Callable[[Store, int, int], Items], int]] = {
    "security group": ("contrail", {}, _groups, 2),
    "Mapping": ("ambassador", {"ambassador.bind_address": "127.0.0.1"}, _mappings, 3),
}
"""Name → compiler, its settings, the world of so many units, and how many objects are written for each."""


def compile_units(name: str, count: int, most: int) -> None:
    """Compile ``count`` units of one name. The resources of ``most`` are made, so that two runs which compile more or
    fewer differ in nothing else."""
    compiler, settings, world, objects = UNITS[name]
    loaded = load_all(find_compilers([compiler]))
    store = Store(loaded.schema)
    items = world(store, count, most)
    with asyncio.Runner(loop_factory=_still_loop) as runner:
        runner.run(_served(loaded, settings, store, items))
    assert len(store) >= objects * count, f"{len(store)} objects for {count} of {name}"


async def _served(loaded: Loaded, settings: dict[str, Any], store: Store, items: Items) -> None:
    # Of the engine only what other commits have as well.
    engine = assemble(loaded, store, store, installation=made.INSTALLATION, settings=settings)  # type: ignore[arg-type]
    is_seen = asyncio.Event()
    serving = asyncio.create_task(engine.run(_events(store, items, is_seen)))
    await is_seen.wait()
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving
    assert engine.quiet


async def _events(store: Store, items: Items, is_seen: asyncio.Event) -> AsyncIterator[Snapshot | Batch]:
    for item in items:
        waiting: Snapshot | Batch | None = item
        while waiting is not None:
            yield waiting
            await asyncio.sleep(_IDLE)
            waiting = store.echo()
    is_seen.set()
    await asyncio.Event().wait()
