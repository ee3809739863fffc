"""What a gateway costs: a world of Mappings, compiled and assembled for Envoy, whole and after one change.

``python -m tests.perf.gateways MAPPINGS HOSTS`` measures one world in this process and prints one line of JSON; without
figures it measures all worlds of the table in docs/benchmarks.md, each in a process of its own (``--write`` puts it
there). Every Mapping has a Service with Endpoints of its own. With no Hosts, or one, that is for all names; with more,
each Mapping is of one Host (``--wildcard``: of all). The engine runs over a store that acknowledges every write at once
and shows it in the next revision: nothing is sent, all is compiled, planned and seen again. The same elements then go
into what the xDS server sends to Envoys, and with ``--envoy`` to a real one. How the table looks is left to
``gateway_figures.py``.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median

from intentc.cli.server_process import run_service
from intentc.dev.child_process import free_ports
from intentc.engine.assembly import assemble
from intentc.engine.engine import Engine
from intentc.model import Batch, Snapshot
from intentc.plugins import Loaded, find_compilers, load_all
from tests.perf import gateway_figures
from tests.perf.gateway_figures import Cost
from tests.perf.gateway_world import Store, mapping, world


async def settle(engine: Engine, store: Store, item: Snapshot | Batch) -> list[Batch]:
    """Apply ``item`` and all that follows; what was written."""
    written: list[Batch] = []
    waiting: Snapshot | Batch | None = item
    while waiting is not None:
        await engine.step([waiting])
        waiting = store.echo()
        written += [waiting] if waiting is not None else []
    return written


class Assembling:
    """The elements as the xDS server keeps them. No process is connected to it."""

    def __init__(self, listing: Snapshot) -> None:
        # Not part of the compiler's memory, which was looked at before.
        from intentc.bridges.xds.encoding import load_extensions
        from intentc.bridges.xds.snapshot_cache import SnapshotCache
        from intentc.bridges.xds.watch_consumer import WatchConsumer

        load_extensions()
        self.world = SnapshotCache()
        self._consumer = WatchConsumer(self.world)
        self.encoding, self.assembling = self.take(listing)

    def take(self, item: Snapshot | Batch, clock: Callable[[], float] = time.process_time) -> tuple[float, float]:
        """Seconds until all of ``item`` is decoded and encoded for Envoy; and until the responses to an Envoy are
        assembled."""
        began = clock()
        self._consumer.apply(item)
        encoded = clock()
        assert self.world.publish(), "nothing has changed for Envoy"
        assert not self.world.held, "an element waits for a cluster that never comes"
        return encoded - began, clock() - encoded

    @asynccontextmanager
    async def envoy(self, real: bool) -> AsyncIterator[Callable[[], Awaitable[float]]]:
        """A call that sends an Envoy all that was assembled since, and returns the seconds until it has accepted it.
        Without ``real`` there is none, and it returns 0."""
        if not real:
            yield _at_once
            return
        from tests.perf.gateway_envoy import envoy_over

        async with envoy_over(self.world) as update:
            yield update


async def _at_once() -> float:
    return 0.0


def _loaded() -> Loaded:
    return load_all(find_compilers(["ambassador"]))


async def measure(mappings: int, hosts: int, wildcard: bool, changes: int, envoy: bool) -> Cost:
    loaded = _loaded()
    store = Store(loaded.schema)
    settings = {"ambassador.bind_address": "127.0.0.1"}
    engine = assemble(loaded, store, store, installation="bench", settings=settings)  # type: ignore[arg-type]
    (port,) = free_ports(1)
    given = [store.put(kind, value) for kind, value in world(mappings, hosts, wildcard, port)]
    gc.collect()
    gc.freeze()
    began = time.process_time()
    await settle(engine, store, Snapshot(store.revision, tuple(given)))
    full, compiled = time.process_time() - began, store.first_write - began
    assert engine.quiet, "the engine has not come to rest"
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    listing = store.listing()
    assembling = Assembling(listing)
    number = mappings // 2
    hostname = f"h{number % hosts}.example.com" if hosts > 1 and not wildcard else "*"
    changed, encoding, assembled, updated = [], [], [], []
    written: list[Batch] = []
    began_real = time.perf_counter()
    async with assembling.envoy(envoy) as update:
        taken = time.perf_counter() - began_real
        for turn in range(changes):
            item = Batch(store.revision + 1, (store.put("mapping", mapping(number, hostname, f"-{turn}")),))
            began = time.perf_counter()
            written = await settle(engine, store, item)
            changed.append(time.perf_counter() - began)
            for batch in written:
                once = assembling.take(batch, time.perf_counter)
                encoding.append(once[0])
                assembled.append(once[1])
                updated.append(await update())
    return Cost(
        mappings=mappings,
        hosts=hosts,
        wildcard=wildcard,
        elements=len(listing.changes),
        compiled=compiled,
        full=full,
        change=median(changed),
        quickest=min(changed),
        writes=sum(len(batch.changes) for batch in written),
        rss=rss,
        encoded=assembling.encoding,
        assembled=assembling.assembling,
        route=median(encoding),
        table=median(assembled),
        taken=taken,
        updated=median(updated),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perf.gateways", description=__doc__)
    parser.add_argument("mappings", type=int, nargs="?", help="without: all worlds of the table")
    parser.add_argument("hosts", type=int, nargs="?", default=0)
    parser.add_argument("--wildcard", action="store_true")
    parser.add_argument("--envoy", action="store_true", help="with a real Envoy at the end")
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    if options.mappings is not None:
        cost = run_service(measure, options.mappings, options.hosts, options.wildcard, options.changes, options.envoy)
        print(json.dumps(cost._asdict()))
        return
    text = gateway_figures.table(gateway_figures.measured(gateway_figures.FULL, sys.stderr))
    print(text)
    if options.write:
        gateway_figures.write(text)


if __name__ == "__main__":
    main()
