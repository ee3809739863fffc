"""The compiler as a process of the bench: the service that ``intentc run`` runs, without its diagnostics page.

    python -m tests.perf.compiler ETCD API_SERVER

It says {"ready"} once the first pass is quiet. ``quiet`` (writes=N) waits until N writes are acknowledged in all and
nothing is left to do; ``evaluations`` (kind, uuid) counts those of one intent.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import anyio

from intentc.configuration import Configuration
from intentc.engine import Engine
from intentc.model import Key
from intentc.plugins import installed
from intentc.service import build_service
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services

from .parts import Question, serve

_LOOK = 0.005
"""Seconds between looks at the engine: what waiting itself costs must not show."""


async def quiet(engine: Engine, writes: int) -> dict[str, Any]:
    """Wait until ``writes`` are acknowledged and nothing is left to do."""
    while engine.reconciling.written < writes or not engine.quiet:
        await asyncio.sleep(_LOOK)
    return {"writes": engine.reconciling.written, "evaluations": engine.evaluating.runs, "at": time.monotonic()}


async def main(etcd: str, api_server: str) -> None:
    began = time.monotonic()
    configuration = Configuration()
    loaded = installed(configuration)
    store = EtcdStore([etcd])
    evaluations: dict[str, int] = {}
    async with http_services(Endpoint(api_server), loaded.schema, pools=loaded.pools) as (write, read):
        service = build_service(configuration, loaded, store, write, read)
        engine = service.engine
        add = engine.parts.journal.add

        async def answer(question: Question) -> dict[str, Any]:
            match question["question"]:
                case "quiet":
                    return await quiet(engine, question["writes"])
                case "evaluations":
                    key = Key(question["kind"], question["uuid"])
                    return {"evaluations": sum(getattr(line, "origin", None) == key for line in engine.parts.journal)}
                case other:
                    raise ValueError(other)

        async with anyio.create_task_group() as group:
            group.start_soon(service.run)
            first = await quiet(engine, 0)
            await serve({"began": began, **first, "resources": len(engine.parts.logic.cache)}, answer)
            group.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
