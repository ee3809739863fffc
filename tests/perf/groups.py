"""Security groups through the compiler: to a sink that only acknowledges, and through our API server and back.

Each run has an etcd of its own; beside it goes its floor, the same changes seen and the same lists posted with no
compiler between them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from intentc.dev.etcd_server import running_etcd
from intentc.watch.etcd import EtcdStore
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Endpoint

from . import made
from .loader import put
from .parts import Part, running_part

TRANSACTION = 1024
"""Operations that etcd and the API server take in one transaction, as in ``intentc dev``."""


class Floor(NamedTuple):
    """Without the compiler. ``cpu``: µs a group to list or watch, decode and index; ``seen`` and ``posted``: seconds
    until all groups were seen, and until all their lists were acknowledged."""

    cpu: float
    seen: float
    posted: float


class Run(NamedTuple):
    """``seconds`` from the first change until the compiler was quiet; ``cpu`` and ``server_cpu``: µs a group of the
    compiler and of whoever it writes to; ``memory``: the compiler's, resident, in MiB."""

    groups: int
    seconds: float
    cpu: float
    memory: float
    server_cpu: float
    floor: Floor


class Site(NamedTuple):
    """An etcd, our way into it, and who takes the writes."""

    etcd: str
    store: EtcdStore
    server: Part


@asynccontextmanager
async def site(target: str) -> AsyncIterator[Site]:
    """``target``: ``sink`` or ``server``."""
    async with running_etcd(max_txn_ops=TRANSACTION) as etcd:
        store = EtcdStore([etcd.endpoint])
        try:
            await put(store, [made.project()])
            arguments = () if target == "sink" else (etcd.endpoint, str(TRANSACTION))
            async with running_part(target, *arguments) as server:
                yield Site(etcd.endpoint, store, server)
        finally:
            await store.close()


async def measure(target: str, count: int) -> Run:
    """One run and its floor."""
    values = [made.security_group(place) for place in range(count)]
    floor = await _floor(target, values)
    async with site(target) as (etcd, store, server), running_part("compiler", etcd, server.ready["url"]) as compiler:
        before, before_server = await compiler.usage(), await server.usage()
        began = time.monotonic()
        await put(store, values)
        ended = (await compiler.ask("quiet", writes=compiler.ready["writes"] + 2 * count))["at"]
        after, after_server = await compiler.usage(), await server.usage()
    return Run(
        count,
        ended - began,
        (after.cpu - before.cpu) / count * 1e6,
        after.memory / 2**20,
        (after_server.cpu - before_server.cpu) / count * 1e6,
        floor,
    )


async def _floor(target: str, values: Sequence[tuple[str, bytes]]) -> Floor:
    count = len(values)
    async with site(target) as (etcd, store, server), running_part("listener", etcd) as listener:
        known = listener.ready["resources"]
        before = await listener.usage()
        began = time.monotonic()
        await put(store, values)
        seen = (await listener.ask("seen", resources=known + count))["at"]
        posting = time.monotonic()
        await _post_lists(server.ready["url"], count)
        posted = time.monotonic()
        if target == "server":
            await listener.ask("seen", resources=known + 3 * count)
        after = await listener.usage()
    return Floor((after.cpu - before.cpu) / count * 1e6, seen - began, posted - posting)


async def _post_lists(url: str, count: int) -> None:
    """The lists of ``count`` groups as the compiler would send them: batches of its size, as many at once."""
    endpoint = Endpoint(url)
    connection = Connection(endpoint)
    items = [item for place in range(count) for item in made.list_items(place)]
    size = endpoint.batch_items
    bodies = iter([msgspec.json.encode({"resources": items[at : at + size]}) for at in range(0, len(items), size)])

    async def post() -> None:
        for body in bodies:
            answer = await connection.send("POST", "/sync", body)
            assert answer.ok, answer.content[:300]

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(endpoint.batches):
                tasks.create_task(post())
    finally:
        await connection.aclose()
