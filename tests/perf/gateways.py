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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from statistics import median
from typing import Any

import msgspec

from intentc.cli.server_process import run_service
from intentc.dev.child_process import free_ports
from intentc.engine.assembly import assemble
from intentc.engine.engine import Engine
from intentc.model import Batch, Change, Create, Delete, Key, Schema, Snapshot, Update
from intentc.model.manifest import manifest_uuid
from intentc.model.values import ENCODER
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.writing.encode import encode_mutation
from intentc.writing.service import Written
from tests.perf import gateway_figures
from tests.perf.gateway_figures import Cost

_VERSION = "getambassador.io/v3alpha1"


def flat(kind: str, name: str, version: str = _VERSION, **fields: Any) -> dict[str, Any]:
    """A resource as it stands in the store."""
    fq_name = ["default", name]
    return {"uuid": manifest_uuid(kind, fq_name), "fq_name": fq_name, "api_version": version, **fields}


def world(mappings: int, hosts: int, wildcard: bool, port: int = 8080) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, resource) of a gateway in order, which listens on ``port``."""
    binding = {"namespace": {"from": "ALL"}}
    yield (
        "listener",
        flat("listener", "http", port=port, protocol="HTTP", securityModel="INSECURE", hostBinding=binding),
    )
    insecure = {"insecure": {"action": "Route"}}
    for number in range(max(hosts, 1)):
        hostname = f"h{number}.example.com" if hosts > 1 else "*"
        yield "host", flat("host", f"host-{number}", hostname=hostname, requestPolicy=insecure)
    for number in range(mappings):
        hostname = f"h{number % hosts}.example.com" if hosts > 1 and not wildcard else "*"
        yield "mapping", mapping(number, hostname)
        yield (
            "service",
            flat(
                "service",
                f"s{number}",
                "v1",
                ports=[{"name": "http", "port": 80, "targetPort": "8080"}],
                type="ClusterIP",
            ),
        )
        address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
        subsets = [{"addresses": [{"ip": address}], "ports": [{"name": "http", "port": 8080}]}]
        yield "endpoints", flat("endpoints", f"s{number}", "v1", subsets=subsets)


def mapping(number: int, hostname: str, suffix: str = "") -> dict[str, Any]:
    return flat(
        "mapping",
        f"m{number}",
        hostname=hostname,
        prefix=f"/service-{number}{suffix}/",
        service=f"s{number}",
        resolver="endpoint",
    )


class Store:
    """A store that takes every write: the write service, and what it holds as changes."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._values: dict[Key, dict[str, Any]] = {}
        self._changed: dict[Key, bytes | None] = {}
        self._born: dict[Key, int] = {}
        self.revision = 1
        self.first_write = 0.0
        """The process's CPU time when anything was written first: until then all was evaluated."""

    def put(self, kind: str, value: dict[str, Any]) -> Change:
        """A user's resource as the next revision."""
        self.revision += 1
        key = Key(kind, value["uuid"])
        born = self._born.setdefault(key, self.revision)
        return Change(kind, key.uuid, ENCODER.encode(value), born, self.revision)

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        self.first_write = self.first_write or time.process_time()
        return self._merge(operation.key, operation)

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        return self._merge(operation.key, operation)

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        self._values.pop(operation.key, None)
        self._changed[operation.key] = None
        return Written(self.revision + 1)

    def _merge(self, key: Key, operation: Create | Update) -> Written:
        data = msgspec.json.decode(encode_mutation(operation, self._schema).data)
        value = self._values[key] = {**self._values.get(key, {}), **data}
        self._changed[key] = ENCODER.encode(value)
        return Written(self.revision + 1)

    def echo(self) -> Batch | None:
        """What was written since the last time, None if nothing was."""
        if not self._changed:
            return None
        self.revision += 1
        changes = tuple(
            Change(key.kind, key.uuid, value, self._born.setdefault(key, self.revision) if value else 0, self.revision)
            for key, value in self._changed.items()
        )
        self._changed.clear()
        return Batch(self.revision, changes)

    def listing(self) -> Snapshot:
        """All that the compiler has written."""
        changes = [
            Change(key.kind, key.uuid, ENCODER.encode(value), self._born[key], self.revision)
            for key, value in self._values.items()
        ]
        return Snapshot(self.revision, tuple(changes))


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
        from intentc.bridges.xds.watch_consumer import WatchConsumer
        from intentc.bridges.xds.world import World

        load_extensions()
        self.world = World()
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
