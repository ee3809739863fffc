"""A bridge in a process of its own, over a store and an API server in its memory: what an event costs it.

    python -m tests.perf.mirroring CLUSTER_URL KIND

``synced`` is answered once etcd has all that the cluster has; ``events`` once so many events have come, with what was
written since the start.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.loading.kubeconfig import ClusterAccess
from intentc.loading.schemas import load_schema
from intentc.watch.memory import MemoryStore
from intentc.writing.connection import in_process
from intentc.writing.http import MirrorService

from .parts import Question, serve

_LOOK = 0.01
_PATH = "mirrored"


async def main(url: str, kind: str) -> None:
    schema = load_schema("kubernetes")
    store = MemoryStore(max_txn_ops=1024)
    connection = in_process(create_app(ApiServer(store, schema, path=_PATH, max_txn_ops=1024)))
    client, writer = Cluster(lambda: ClusterAccess(url)), MirrorService(connection)
    settings = Settings(_PATH, "bench", "bench", ttl=60)
    async with running(Bridge(client, store, writer, mirrored_kinds(schema, [kind]), settings)) as bridge:

        async def answer(question: Question) -> dict[str, Any]:
            counters = bridge.tasks[kind].watcher.counters if kind in bridge.tasks else {}
            if question["question"] == "synced":
                while not (bridge.status()["converged"] and bridge.tasks[kind].mark is not None):  # noqa: ASYNC110
                    await anyio.sleep(0.1)
            else:
                while counters.get("events", 0) < question["count"]:  # noqa: ASYNC110 - a counter has no event
                    await anyio.sleep(_LOOK)
            revision = (await store.range(f"/{_PATH}/", f"/{_PATH}0", limit=1)).items
            return {"written": sum(bridge.copy_writer.counters.values()), "copies": len(revision)}

        await serve({}, answer)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
