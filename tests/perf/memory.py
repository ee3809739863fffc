"""What a resource costs in memory, measured in a process that does nothing else: growth of the resident set.

    python -m tests.perf.memory cached|evaluated RESOURCES

``cached``: decoded, indexed, in the graph. ``evaluated``: besides, each was evaluated by an intent that makes eight
reads and wants nothing. Each resource is 1 KB of JSON, which counts.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from typing import cast

import anyio

from intentc.engine.assembly import assemble
from intentc.evaluation import Context, Intent
from intentc.loading.configuration import Configuration
from intentc.logic.cache import Cache
from intentc.logic.decoding import arrivals
from intentc.model import Change, Claim, Fact, Snapshot
from intentc.plugins import Loaded, installed
from intentc.writing import ReadService, WriteService

from . import made
from .parts import Usage, serve

KIND = "virtual_machine_interface"


class EightReads(Intent):
    """Reads itself, its parent, three relations and three names."""

    kind = KIND

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        self.parent()
        for relation in ("virtual_network", "security_group", "virtual_machine"):
            self.references(relation)
        name = self.name
        for place in range(3):
            ctx.find("security_group", (*made.PROJECT, f"{name}-{place}"))
        return ()


def world(count: int) -> Snapshot:
    """So many resources, as a list gives them."""
    changes = []
    for place in range(count):
        key, value = made.one_kilobyte(place)
        changes.append(Change(KIND, key.rpartition("/")[2], value, 5, 5))
    return Snapshot(5, tuple(changes))


async def cached(loaded: Loaded, count: int) -> object:
    cache = Cache(loaded.schema)
    cache.commit(cache.prepare(arrivals(cache, world(count), {}).states))
    assert len(cache) == count
    return cache


async def evaluated(loaded: Loaded, count: int) -> object:
    unused = cast(WriteService, None), cast(ReadService, None)
    engine = assemble(loaded._replace(intents={KIND: EightReads}), *unused, installation=made.INSTALLATION)
    await engine.step([world(count)])
    assert engine.evaluator.runs == count
    assert len(engine.world.reads.reads_of(next(iter(engine.world.cache)))) == 8
    return engine


async def main(what: str, count: str) -> None:
    loaded = installed(Configuration())
    # What is made once, whatever the number, is not counted.
    first = await (cached if what == "cached" else evaluated)(loaded, 100)
    gc.collect()
    before = Usage.now().memory
    kept = await (cached if what == "cached" else evaluated)(loaded, int(count))
    gc.collect()
    after = Usage.now().memory
    assert first is not kept
    await serve({"bytes": (after - before) / int(count)}, _nothing)


async def _nothing(question: dict[str, object]) -> dict[str, object]:
    raise ValueError(question)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
