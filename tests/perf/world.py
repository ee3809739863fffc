"""What a converged world costs: a restart over it, and one change in it.

The world is made by the real parts, groups through the compiler and our API server, and then taken over by fresh ones.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete, Put, WatchBatch, prefix_end
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Endpoint

from . import made
from .groups import Site, site
from .loader import put
from .parts import Part, running_part

LISTS = made.value_key("access_control_list", "")


class Restart(NamedTuple):
    """Seconds and CPU seconds from the process's first own line until the first pass is quiet, and of the floor: until
    everything is listed, decoded and indexed."""

    resources: int
    seconds: float
    cpu: float
    floor_seconds: float
    floor_cpu: float


class Change(NamedTuple):
    """Milliseconds (medians) from one changed group until its lists are changed in etcd, resp. until the sink has the
    request; ``floor``: two commits and one request one after the other, resp. one of each."""

    resources: int
    through: float
    through_floor: float
    to_sink: float
    to_sink_floor: float


@asynccontextmanager
async def converged(groups: int) -> AsyncIterator[Site]:
    """A site with our API server, so many groups and twice as many lists; its compiler has gone."""
    async with site("server") as place:
        async with running_part("compiler", place.etcd, place.server.ready["url"]) as compiler:
            await put(place.store, [made.security_group(number) for number in range(groups)])
            await compiler.ask("quiet", writes=compiler.ready["writes"] + 2 * groups)
        yield place


async def restart(place: Site, groups: int) -> Restart:
    """Start the floor and a second compiler over the world, one after the other. Raises ``AssertionError`` if the
    compiler writes anything, or does not repair a list that then goes missing."""
    async with running_part("listener", place.etcd) as listener:
        floor = listener.ready
    async with running_part("sink") as sink, running_part("compiler", place.etcd, sink.ready["url"]) as compiler:
        ready = compiler.ready
        asked = (await sink.ask("requests"))["requests"]
        assert not any(not request.startswith("GET") for request in asked), f"a restart wrote: {asked}"
        assert ready["evaluations"] >= groups
        lost = await place.store.range(LISTS, prefix_end(LISTS), limit=1)
        await place.store.transaction((), [Delete(lost.items[0].key)])
        await sink.ask("wait", items=1)
    # Put back as it was, for whoever measures next.
    await place.store.transaction((), [Put(lost.items[0].key, lost.items[0].value)])
    return Restart(
        ready["resources"],
        ready["at"] - ready["began"],
        ready["cpu"],
        floor["at"] - floor["began"],
        floor["cpu"],
    )


async def change(place: Site, resources: int, repetitions: int) -> Change:
    """Change one group after the other, by turns with the floor."""
    through, through_floor, to_sink, to_sink_floor = [], [], [], []
    async with running_part("sink") as sink:
        connection = Connection(Endpoint(sink.ready["url"]))
        try:
            async with running_part("compiler", place.etcd, place.server.ready["url"]):
                for turn in range(repetitions):
                    through.append(await _until_stored(place.store, turn, last_port=1000 + turn))
                    through_floor.append(await floor(place.store, connection, commits=2))
            async with running_part("compiler", place.etcd, sink.ready["url"]):
                for turn in range(repetitions):
                    to_sink.append(await _until_sunk(place.store, sink, turn, last_port=2000 + turn))
                    to_sink_floor.append(await floor(place.store, connection, commits=1))
        finally:
            await connection.aclose()
    medians = [statistics.median(times) * 1000 for times in (through, through_floor, to_sink, to_sink_floor)]
    return Change(resources, *medians)


async def _until_stored(store: EtcdStore, number: int, last_port: int) -> float:
    key, value = made.security_group(number, last_port)
    begin = (await store.range(key)).revision
    wanted = f'"end_port":{last_port}'.encode()
    async with store.watch([LISTS], begin + 1) as watch:
        began = time.monotonic()
        await store.transaction((), [Put(key, value)])
        changed = 0
        async for batch in watch:
            if isinstance(batch, WatchBatch):
                changed += sum(wanted in event.item.value for event in batch.events)
            if changed == 2:
                break
        return time.monotonic() - began


async def _until_sunk(store: EtcdStore, sink: Part, number: int, last_port: int) -> float:
    items = (await sink.ask("requests"))["items"]
    key, value = made.security_group(number, last_port)
    began = time.monotonic()
    await store.transaction((), [Put(key, value)])
    return float((await sink.ask("wait", items=items + 2))["at"]) - began


async def floor(store: EtcdStore, connection: Connection, commits: int) -> float:
    """Seconds that a commit, a request and, if ``commits`` is 2, another commit take one after the other."""
    key, value = made.security_group(0)
    body = msgspec.json.encode({"resources": made.list_items(0)})
    began = time.monotonic()
    await store.transaction((), [Put(f"/perf{key}", value)])
    await connection.send("PUT", "/floor", body)
    if commits == 2:
        await store.transaction((), [Put(f"/perf{key}", value), Put(f"/perf{key}/2", value)])
    return time.monotonic() - began
