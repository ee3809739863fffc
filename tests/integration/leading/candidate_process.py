"""A process that only stands for election, and reports each callback to its parent as a line.

Run as ``python candidate_process.py ENDPOINT INSTALLATION NAME TTL``. Continued after a stop, it reports its fence
before anything else of it runs; at SIGTERM it resigns.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

import anyio

from intentc.leading import Election
from intentc.watch.etcd import EtcdStore
from intentc.watch.lease_keeper import EtcdLeaseKeepers


def report(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def main(*arguments: str) -> None:
    endpoint, installation, name, ttl = arguments
    store = EtcdStore([endpoint], timeout=5.0)
    election = Election(
        store,
        installation,
        name,
        ttl=int(ttl),
        versions={"contrail": "1"},
        on_won=lambda leadership: report("won", leadership.fence),
        on_lost=lambda reason: report("lost", reason),
        keepers=EtcdLeaseKeepers([endpoint]),
    )

    def continued(number: int, frame: FrameType | None) -> None:
        report("continued", election.fence())

    signal.signal(signal.SIGCONT, continued)
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            group.start_soon(election.run)
            report("standing")
            async for _ in signals:
                await election.resign()
                group.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
