"""The compiler as a process of the bench: the service that ``intentc run`` runs, without its diagnostics page.

    python -m tests.perf.compiler ETCD API_SERVER [JOURNAL_ENTRIES]

It is ready once the first pass is quiet. ``quiet`` (writes=N, revision=R) waits until N writes are acknowledged in all,
R is applied and nothing is left to do; ``evaluations`` (kind, uuid) counts those of one intent, as far as the journal
goes back.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import anyio
import msgspec

from intentc.cli.server_process import run_service
from intentc.engine.engine import Engine
from intentc.journal import Entry
from intentc.loading.configuration import Configuration
from intentc.model import Key
from intentc.plugins import installed
from intentc.service.service import build_service
from intentc.watch.etcd import EtcdStore
from intentc.writing.endpoint import Endpoint
from intentc.writing.http import http_services

from .parts import Question, serve

_LOOK = 0.005
"""Seconds between looks at the engine: what waiting itself costs must not show."""


async def quiet(engine: Engine, writes: int = 0, revision: int = 0) -> dict[str, Any]:
    """Wait until ``writes`` are acknowledged, ``revision`` is applied, and nothing is left to do."""
    # Not ``engine.settled``, which every job wakes: that would show in the figures.
    while engine.sender.written < writes or engine.revision < revision or not engine.quiet:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)
    return {"writes": engine.sender.written, "evaluations": engine.evaluator.runs, "at": time.monotonic()}


def _configuration(journal_entries: int) -> Configuration:
    replace = msgspec.structs.replace
    defaults = Configuration()
    journal = replace(defaults.intentc.journal, entries=journal_entries, bytes=1_000 * journal_entries)
    return replace(defaults, intentc=replace(defaults.intentc, journal=journal))


async def main(etcd: str, api_server: str, journal_entries: str) -> None:
    began, cpu = time.monotonic(), time.process_time()
    configuration = _configuration(int(journal_entries))
    loaded = installed(configuration)
    store = EtcdStore([etcd])
    async with http_services(Endpoint(api_server), loaded.schema, pools=loaded.pools) as (write, read):
        service = build_service(configuration, loaded, store, write, read)
        engine = service.engine

        async def answer(question: Question) -> dict[str, Any]:
            match question["question"]:
                case "quiet":
                    return await quiet(engine, question.get("writes", 0), question.get("revision", 0))
                case "evaluations":
                    key = Key(question["kind"], question["uuid"])
                    journal = engine.journal
                    return {"evaluations": sum(isinstance(line, Entry) and line.origin == key for line in journal)}
                case other:
                    raise ValueError(other)

        async with anyio.create_task_group() as group:
            group.start_soon(service.run)
            first = await quiet(engine)
            first |= {"cpu": time.process_time() - cpu, "began": began}
            await serve({**first, "resources": len(engine.world.cache)}, answer)
            group.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    run_service(main, sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "10000")
