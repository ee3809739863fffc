"""The floor of the path as a process of the bench: list and watch, decode, index, and nothing else.

    python -m tests.perf.listener ETCD

It is ready once the world is listed and indexed; ``seen`` (resources=N) waits until it knows N resources.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import aclosing
from typing import Any

import anyio

from intentc.cli.server_process import run_service
from intentc.loading.configuration import Configuration
from intentc.logic.cache import Cache
from intentc.logic.decoding import arrivals
from intentc.plugins import installed
from intentc.watch.etcd import EtcdStore
from intentc.watch.source import Source

from .made import PATH
from .parts import Question, serve


class Listener:
    """A cache that follows the store."""

    def __init__(self, store: EtcdStore) -> None:
        self.cache = Cache(installed(Configuration()).schema)
        self._source = Source(store, f"/{PATH}/")
        self._more = asyncio.Event()
        self.listed = asyncio.Event()

    async def run(self) -> None:
        async with aclosing(self._source.events()) as events:
            async for item in events:
                self.cache.commit(self.cache.prepare(arrivals(self.cache, item, {}).states))
                self.listed.set()
                self._more.set()

    async def answer(self, question: Question) -> dict[str, Any]:
        while len(self.cache) < question["resources"]:
            self._more.clear()
            await self._more.wait()
        return {"at": time.monotonic()}


async def main(etcd: str) -> None:
    began, cpu = time.monotonic(), time.process_time()
    store = EtcdStore([etcd])
    listener = Listener(store)
    async with anyio.create_task_group() as group:
        group.start_soon(listener.run)
        await listener.listed.wait()
        ready = {"began": began, "at": time.monotonic(), "cpu": time.process_time() - cpu}
        await serve({**ready, "resources": len(listener.cache)}, listener.answer)
        group.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    run_service(main, sys.argv[1])
