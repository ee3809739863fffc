"""Our API server as a process of the bench: what ``intentc apiserver`` runs, without the first objects (they would want
numbers, which the sink has not), unless these are asked for.

    python -m tests.perf.server ETCD MAX_TXN_OPS [seeds]
"""

from __future__ import annotations

import sys
from typing import Any

from intentc.apiserver.serving import running_api_server
from intentc.cli.server_process import run_service
from intentc.loading.configuration import Configuration
from intentc.plugins import installed
from intentc.watch.etcd import EtcdStore

from .parts import Question, serve


async def _nothing(question: Question) -> dict[str, Any]:
    raise ValueError(question["question"])


async def main(etcd: str, max_txn_ops: str, seeds: str) -> None:
    store = EtcdStore([etcd])
    schema = installed(Configuration()).schema
    limit = int(max_txn_ops)
    async with running_api_server(store, schema, max_txn_ops=limit, seeds=seeds == "seeds") as running:
        await serve({"url": running.url}, _nothing)
    await store.close()


if __name__ == "__main__":
    run_service(main, sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
