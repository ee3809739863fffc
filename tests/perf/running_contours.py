"""What running Contours cost: a world of Gateways of one class, each an instance, whole and after one change.

``python -m tests.perf.running_contours GATEWAYS`` measures one world in this process and prints one line of JSON;
without a figure it measures the worlds of the table in docs/benchmarks.md (``--write`` puts it there). Engine and API
server run in this process over a store in memory. Then a cluster's answers are written for all objects at once, as a
bridge would.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

import anyio

from intentc.testing import MemoryService, load, service_for
from intentc.testing.given import Resource

from . import figures
from .sizes import Bench, run

BEGIN, END = "<!-- running Contours: written by make bench -->", "<!-- end of running Contours -->"
WORLDS = (100, 1_000)
CHANGES = 50
_ANSWERS: dict[str, dict[str, Any]] = {
    "deployment": {"available": True, "counts": {"desired": 2, "ready": 2, "available": 2}},
    "daemonset": {"available": True, "counts": {"desired": 3, "ready": 3, "available": 3}},
    "service--envoy": {"addresses": ["192.0.2.1"]},
}
"""Start of a manifest's name → what a cluster answers for it."""


class Cost(NamedTuple):
    """``converged``: seconds of CPU until every object of every Gateway is written; ``writes``: how many writes that
    were, ``objects`` of them manifests. ``answered``: seconds of CPU until the conditions follow the cluster's answers,
    ``statuses``: writes of status then. ``rss``: MiB. ``change``: seconds as they pass until what follows from one
    changed port of a listener is written, the median; ``change_writes``: how many writes that is."""

    gateways: int
    objects: int
    writes: int
    converged: float
    answered: float
    statuses: int
    rss: float
    change: float
    change_writes: int


def gateway(number: int, port: int = 80) -> Resource:
    """A Gateway with two listeners, one of 50 namespaces."""
    listeners = [{"name": "one", "port": port, "protocol": "HTTP"}, {"name": "two", "port": 8080, "protocol": "HTTP"}]
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": f"g{number}", "namespace": f"n{number % 50}"},
        "spec": {"gatewayClassName": "contour", "listeners": listeners},
    }
    return load(f"{json.dumps(manifest)}\n")


def gateway_class() -> Resource:
    """A class without parameters."""
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "contour"},
        "spec": {"controllerName": "projectcontour.io/gateway-controller"},
    }
    return load(f"{json.dumps(manifest)}\n")


def measure(gateways: int, changes: int) -> Cost:
    """Measure one world in this process."""
    return anyio.run(_measured_here, gateways, changes)


async def _measured_here(gateways: int, changes: int) -> Cost:
    service = service_for("gateway")
    given = [gateway(number) for number in range(gateways)]
    began = time.process_time()
    await service.create(gateway_class(), *given)
    converged = time.process_time() - began
    writes = len(service.written)
    objects = sum(one.key.kind == "manifest" for one in service.written)
    began = time.process_time()
    await _answer(service)
    answered, statuses = time.process_time() - began, len(service.written) - writes
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken, before = [], 0
    for turn in range(changes):
        item, before = gateway(gateways // 2, 1_000 + turn), len(service.written)
        began = time.perf_counter()
        await service.update(item)
        taken.append(time.perf_counter() - began)
    return Cost(
        gateways, objects, writes, converged, answered, statuses, rss, median(taken), len(service.written) - before
    )


async def _answer(service: MemoryService) -> None:
    entries: list[dict[str, Any]] = []
    for name in sorted(one.name.fq_name for one in service.written if one.key.kind == "manifest"):
        found = next((answer for start, answer in _ANSWERS.items() if name[1].startswith(start)), {})
        entries.append({"kind": "observed", "operation": "CREATE", "data": {"fq_name": list(name), **found}})
    await service.offline.server.sync(entries)
    await service.settle()


def table(costs: Iterable[Cost]) -> str:
    """The costs as a table of Markdown."""
    lines = [
        "| Gateways | objects | writes | converged, s of CPU | cluster's answers compiled, s of CPU | writes of status "
        "| RSS, MiB | one listener's port, ms | writes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        shown = (cost.objects, cost.writes, cost.converged, cost.answered, cost.statuses, cost.rss, cost.change * 1000)
        cells = " | ".join(map(figures.number, shown))
        lines.append(f"| {cost.gateways:,} | {cells} | {cost.change_writes} |")
    return "\n".join(lines)


BENCH = Bench(
    "tests.perf.running_contours", __doc__, WORLDS, Cost, lambda size: measure(size, CHANGES), table, BEGIN, END
)

if __name__ == "__main__":
    run(BENCH)
