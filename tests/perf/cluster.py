"""``python -m tests.perf.cluster [--short] [--write]``: a cluster's events past the bridge, and from it to Envoy.

Pods whose heartbeats change nothing pass a bridge in a process of its own: CPU an event, at a steady rate and as fast
as it can. Mappings are mirrored, compiled and served to a real Envoy by a chain in this process, next to etcd's and
Envoy's processes: seconds to the first route, and from one change in the cluster to its acknowledgement.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import httpx2
import msgspec

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.cli.connecting import api_server
from intentc.loading.schemas import load_schema
from intentc.watch.etcd import EtcdStore
from intentc.writing.http import mirror_service
from tests.envoy.gateway_system import CONFIGURATION, Chain, living
from tests.support.envoy.held_ports import held_port
from tests.support.kube.fake_cluster import FakeCluster, Manifest, running_fake_cluster
from tests.support.kube.mirrored_system import HOSTS, LISTENERS, MAPPINGS

from . import figures
from .parts import Part, Usage, running_part

BEGIN, END = "<!-- cluster: written by make bench -->", "<!-- end of cluster -->"
PODS = "/api/v1/pods"
_STEP = 0.1
"""Seconds between two portions of the steady churn."""
_PORTION = 200
_HISTORY = 5_000
"""Events that the cluster keeps."""


class Extent(NamedTuple):
    """``pods`` in the cluster; ``seconds`` of ``rate`` events a second; ``burst``: events without a pause; ``mappings``
    at the start, and ``changes`` of one of them."""

    pods: int
    rate: int
    seconds: float
    burst: int
    mappings: int
    changes: int


FULL = Extent(100_000, 200, 20.0, 20_000, 10_000, 200)
SHORT = Extent(300, 100, 0.5, 400, 30, 5)


class Pods(NamedTuple):
    """``steady``, ``burst``: CPU of the bridge, µs an event; ``idle``: CPU without events, µs a second; ``throughput``:
    events a second of the burst; ``written``: writes to etcd because of any of them; ``memory``: MiB of the process
    with the copies, store included."""

    pods: int
    rate: int
    steady: float
    idle: float
    burst: float
    throughput: float
    written: int
    memory: float


class Route(NamedTuple):
    """``first``: seconds from the bridge's start until Envoy answers a request by a route; ``all``: until it has
    acknowledged everything; ``cpu``: of this process until then. ``changes``: seconds from a change of one Mapping in
    the cluster until Envoy has acknowledged what follows."""

    mappings: int
    copied: float
    first: float
    all: float
    cpu: float
    changes: tuple[float, ...]


def pod(number: int, beat: int) -> Manifest:
    """A Pod of 3 KB, of which each heartbeat changes only what no schema declares."""
    when = f"2026-01-01T{beat // 3600 % 24:02}:{beat // 60 % 60:02}:{beat % 60:02}Z"
    owned: dict[str, Any] = {f"f:field-{place}": {"f:inner": {}, "f:other": {}} for place in range(30)}
    managers = [
        {"manager": name, "operation": "Update", "apiVersion": "v1", "time": when, "fieldsV1": owned}
        for name in ("kube-controller-manager", "kubelet")
    ]
    port = {"name": "web", "containerPort": 8080, "protocol": "TCP"}
    container = {"name": "web", "image": "web:1", "ports": [port], "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"web-{number}",
            "namespace": f"team-{number % 50}",
            "labels": {"app": f"web-{number % 500}"},
            "managedFields": managers,
        },
        "spec": {"nodeName": f"node-{number % 1000}", "containers": [container]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "hostIP": "10.1.0.1", "message": when},
    }


async def pods(extent: Extent) -> Pods:
    """Pods past the bridge."""
    async with running_fake_cluster(lambda made: made.serve(PODS, "Pod")) as cluster:
        for number in range(extent.pods):
            cluster.put(PODS, pod(number, 0))
        cluster.history.clear()
        async with running_part("mirroring", cluster.url, "pod") as bridge:
            before = await bridge.ask("synced")
            assert before["written"] == extent.pods, before
            idle = await _idle(bridge, extent.seconds)
            count = round(extent.rate * extent.seconds)
            seen = 0

            async def beat(events: int, pause: float) -> tuple[float, float]:
                """CPU and time of so many heartbeats."""
                nonlocal seen
                used, began = (await bridge.usage()).cpu, time.perf_counter()
                portion = max(1, round(extent.rate * _STEP)) if pause else _PORTION
                for first in range(0, events, portion):
                    for number in range(first, min(events, first + portion)):
                        cluster.put(PODS, pod(number * 7919 % extent.pods, seen + number + 1))
                    del cluster.history[:-_HISTORY]
                    await anyio.sleep(pause)
                seen += events
                answer = await bridge.ask("events", count=seen)
                assert answer["written"] == extent.pods, answer
                return (await bridge.usage()).cpu - used, time.perf_counter() - began

            steady, _ = await beat(count, _STEP)
            burst, took = await beat(extent.burst, 0.0)
            after = await bridge.ask("synced")
            return Pods(
                extent.pods,
                extent.rate,
                (steady - idle * extent.seconds) / count * 1e6,
                idle * 1e6,
                burst / extent.burst * 1e6,
                extent.burst / took,
                after["written"] - before["written"],
                (await bridge.usage()).memory / 2**20,
            )


async def _idle(bridge: Part, seconds: float) -> float:
    """CPU of the bridge a second, while nothing happens."""
    used = (await bridge.usage()).cpu
    await anyio.sleep(seconds / 2)
    return ((await bridge.usage()).cpu - used) / (seconds / 2)


def _manifest(kind: str, name: str, spec: dict[str, Any]) -> Manifest:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "getambassador.io/v3alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def _mapping(number: int, prefix: str) -> Manifest:
    # Upstreams with an address need no DNS; nobody listens there.
    service = f"http://127.0.0.1:{10_000 + number % 100}"
    return _manifest("Mapping", f"m{number}", {"hostname": "*", "prefix": prefix, "service": service})


def _install(cluster: FakeCluster) -> None:
    for path, kind in ((MAPPINGS, "Mapping"), (HOSTS, "Host"), (LISTENERS, "Listener")):
        cluster.serve(path, kind)


@asynccontextmanager
async def _bridge(cluster: FakeCluster, chain: Chain) -> AsyncIterator[Bridge]:
    own = msgspec.structs.replace(CONFIGURATION.intentc, installation="bridge")
    kinds = mirrored_kinds(load_schema("ambassador"), ("mapping", "host", "listener"))
    settings = Settings(CONFIGURATION.etcd.path, own.installation, "bench", ttl=60, tend_seconds=0.05)
    client, store = Cluster(cluster.access), EtcdStore([chain.started.etcd])
    try:
        async with (
            mirror_service(api_server(chain.started.configuration)) as writer,
            running(Bridge(client, store, writer, kinds, settings)) as bridge,
        ):
            yield bridge
    finally:
        await client.aclose()
        await store.close()


async def route(extent: Extent) -> Route:
    """Mappings from the cluster to Envoy."""
    with held_port() as port:
        async with running_fake_cluster(_install) as cluster, living() as chain:
            binding = {"namespace": {"from": "ALL"}}
            spec = {"port": port, "protocol": "HTTP", "securityModel": "INSECURE", "hostBinding": binding}
            cluster.put(LISTENERS, _manifest("Listener", "web", spec))
            everything = {"hostname": "*", "requestPolicy": {"insecure": {"action": "Route"}}}
            cluster.put(HOSTS, _manifest("Host", "all", everything))
            for number in range(extent.mappings):
                cluster.put(MAPPINGS, _mapping(number, f"/p{number}/"))
            began, used = time.perf_counter(), Usage.now().cpu
            async with _bridge(cluster, chain) as bridge:
                first = copied = 0.0
                while not (first and copied):
                    if not copied and bridge.tasks and bridge.mirror.counts("mapping")[1] == extent.mappings:
                        copied = time.perf_counter() - began
                    if not first and await _answers(chain.client, port):
                        first = time.perf_counter() - began
                    await anyio.sleep(0.02)
                await _acknowledged(cluster, bridge, chain)
                whole, cpu = time.perf_counter() - began, Usage.now().cpu - used
                changes = []
                for number in range(extent.changes):
                    changed = time.perf_counter()
                    cluster.put(MAPPINGS, _mapping(number % extent.mappings, f"/c{number}/"))
                    await _acknowledged(cluster, bridge, chain)
                    changes.append(time.perf_counter() - changed)
                assert not chain.gateway.xds.status()["rejected"]
                return Route(extent.mappings, copied, first, whole, cpu, tuple(changes))


async def _answers(client: httpx2.AsyncClient, port: int) -> bool:
    """Whether Envoy has the route ``/p0/``: nobody listens behind it, so it answers 503, and 404 without the route."""
    try:
        return (await client.get(f"http://127.0.0.1:{port}/p0/")).status_code == 503
    except httpx2.TransportError:
        return False


async def _acknowledged(cluster: FakeCluster, bridge: Bridge, chain: Chain) -> None:
    """Return when Envoy has acknowledged all that follows from the cluster's present state."""
    watcher = bridge.tasks["mapping"].watcher
    last = cluster.last_event(MAPPINGS)
    while not (int(watcher.informer.version or 0) >= last and bridge.copy_writer.idle):  # noqa: ASYNC110
        await anyio.sleep(0.001)
    engine = chain.started.service.engine
    await engine.settled(bridge.revision)
    revision, world = max(bridge.revision, engine.sender.last_revision), chain.gateway.xds.cache
    while not (world.published >= revision and all(stream.serial >= world.serial for stream in world.streams)):  # noqa: ASYNC110
        await anyio.sleep(0.001)


Row = tuple[str, str, str]
"""What, the figure, and its budget."""


def of_pods(passed: Pods) -> list[Row]:
    number = figures.number
    return [
        (
            f"{passed.pods:,} pods, {passed.rate} events/s: bridge's CPU, µs an event",
            number(passed.steady),
            "≤ 150",
        ),
        ("the same as fast as it can: CPU, µs an event", number(passed.burst), "≤ 150"),
        ("events/s then, by the clock", number(passed.throughput), ""),
        ("events/s of a whole core: 1 / CPU", number(1e6 / passed.burst), "≥ 2,000"),
        ("writes to etcd because of them", str(passed.written), "0"),
        ("CPU without events, µs a second", number(passed.idle), ""),
        ("memory of bridge and copies, MiB", number(passed.memory), ""),
    ]


def of_route(routed: Route) -> list[Row]:
    number, times = figures.number, sorted(1000 * one for one in routed.changes)
    p99 = statistics.quantiles(times, n=100, method="inclusive")[98] if len(times) > 1 else times[0]
    return [
        (f"{routed.mappings:,} Mappings listed at the start: all copied to etcd, s", number(routed.copied), ""),
        ("the first route in Envoy, s", number(routed.first), ""),
        ("all acknowledged, s", number(routed.all), ""),
        ("CPU of bridge, API server, compiler and xDS together until then, s", number(routed.cpu), ""),
        ("one Mapping changed in the cluster until acknowledged, p50, ms", number(statistics.median(times)), ""),
        ("p99, ms", number(p99), ""),
    ]


def table(rows: Sequence[Row]) -> str:
    """The figures as a table of Markdown."""
    lines = [figures.head(), "", "| what | measured | budget |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


async def measure(extent: Extent) -> list[Row]:
    """Both, one after the other; each is printed as soon as it is known."""
    found: list[Row] = []
    if extent.pods:
        found += of_pods(await pods(extent))
        _report(found)
    if extent.mappings:
        found += of_route(await route(extent))
        _report(found)
    return found


def _report(rows: Sequence[Row]) -> None:
    print("\n".join(": ".join(row[:2]) for row in rows), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perf.cluster", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few seconds: does it work at all?")
    parser.add_argument("--pods", type=int, help="so many; 0: leave them out")
    parser.add_argument("--mappings", type=int, help="so many; 0: leave them out")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    extent = SHORT if options.short else FULL
    if options.pods is not None:
        extent = extent._replace(pods=options.pods)
    if options.mappings is not None:
        extent = extent._replace(mappings=options.mappings)
    text = table(anyio.run(measure, extent))
    print(text)
    if options.write:
        figures.write(text, BEGIN, END)


if __name__ == "__main__":
    main()
