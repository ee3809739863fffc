"""``python -m tests.questions [--groups N] [--networks N]``: ask a running system of ten thousand resources everything,
and print how long each answer took."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import anyio

from intentc.dev.etcd_server import Etcd, find_binary
from intentc.watch.etcd import EtcdStore
from tests.questions.questioned_system import report, running_questioned_system
from tests.questions.questions import QUESTIONS


async def ask_all(groups: int, networks: int) -> None:
    etcd = Etcd(binary=find_binary())
    etcd.start()
    store = EtcdStore([etcd.endpoint])
    try:
        with tempfile.TemporaryDirectory(prefix="intentc-questions-") as folder:
            async with running_questioned_system(etcd, store, Path(folder), groups, networks) as system:
                resources = sum(map(len, (await system.world.stored()).values()))
                report(f"{resources:,} resources in etcd")
                for question in QUESTIONS:
                    report(question.__name__.replace("_", " "))
                    await question(system)
                for text, seconds in system.took.items():
                    print(f"| {text} | {seconds:.2f} s |")
    finally:
        await store.close()
        etcd.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.questions", description=__doc__)
    parser.add_argument("--groups", type=int, default=3_000)
    parser.add_argument("--networks", type=int, default=1_000)
    given = parser.parse_args()
    anyio.run(ask_all, given.groups, given.networks)


if __name__ == "__main__":
    main()
