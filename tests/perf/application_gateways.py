"""What the compile of an Application Gateway costs: a world of Ingresses with Secrets, whole and after one change.

``python -m tests.perf.application_gateways INGRESSES`` measures one world in this process and prints one line of JSON;
without a figure it measures the worlds of the table in docs/benchmarks.md (``--write`` puts it there). Engine and API
server run in this process over a store in memory, as under ``intentc compile``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

import anyio

from tests.support.appgw.manifests import endpoint_slice, ingress, rule, service
from tests.support.appgw.random_worlds import gateway
from tests.support.appgw.system import DocumentSystem

from . import figures
from .sizes import Bench, run

BEGIN, END = "<!-- Application Gateways: written by make bench -->", "<!-- end of Application Gateways -->"
WORLDS = (100, 1_000, 2_000, 10_000)
CHANGES = 50


class Cost(NamedTuple):
    """``compiled``: seconds of CPU until every object is written; ``objects``: how many these are. ``endpoint``,
    ``ingress``: seconds of CPU until what follows from one changed endpoint, or path of an Ingress, is written, the
    median, and how many objects differ then. ``assembled``: seconds of CPU for the document. ``rss``: MiB."""

    ingresses: int
    compiled: float
    objects: int
    endpoint: float
    endpoint_objects: int
    ingress: float
    ingress_objects: int
    assembled: float
    rss: float


def world_of(ingresses: int) -> list[Any]:
    """Ingresses with a name and a path each, and a Service with two endpoints."""
    found: list[Any] = []
    for number in range(ingresses):
        found += [service(f"s{number}"), endpoint_slice(f"s{number}", *_addresses(number, 0)), _ingress(number, "/")]
    return found


def _addresses(number: int, turn: int) -> tuple[str, str]:
    return f"10.{number // 250}.{number % 250}.1", f"10.200.0.{turn}"


def _ingress(number: int, path: str) -> dict[str, Any]:
    return ingress(f"i{number}", rule(f"h{number}.test", (path, "Prefix", f"s{number}")))


def measure(ingresses: int, changes: int) -> Cost:
    """Measure one world in this process."""
    return anyio.run(_measured_here, ingresses, changes)


async def _measured_here(ingresses: int, changes: int) -> Cost:
    system = DocumentSystem(gateway())
    await system.start()
    world, middle = world_of(ingresses), ingresses // 2
    began = time.process_time()
    await system.put(*world)
    compiled = time.process_time() - began
    found = _objects(system)
    began = time.process_time()
    system.assembled()
    assembled = time.process_time() - began
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    endpoint, path = [], []
    for turn in range(changes):
        endpoint.append(await _put(system, endpoint_slice(f"s{middle}", *_addresses(middle, turn + 1))))
    endpoint_objects = _changed(found, _objects(system))
    for turn in range(changes):
        path.append(await _put(system, _ingress(middle, f"/{turn}")))
    found = _objects(system)
    await _put(system, _ingress(middle, "/last"))
    path_objects = _changed(found, _objects(system))
    return Cost(
        *(ingresses, compiled, len(found), median(endpoint), endpoint_objects),
        *(median(path), path_objects, assembled, rss),
    )


async def _put(system: DocumentSystem, manifest: dict[str, Any]) -> float:
    """Seconds of CPU until what follows from the change is written."""
    began = time.process_time()
    await system.put(manifest)
    return time.process_time() - began


def _objects(system: DocumentSystem) -> dict[str, Any]:
    """The compiled objects by kind and name."""
    return {f"{one['kind']} {one['fq_name']}": one for one in system.offline.outputs()}


def _changed(before: dict[str, Any], after: dict[str, Any]) -> int:
    return sum(before.get(name) != after.get(name) for name in before.keys() | after.keys())


def table(costs: Iterable[Cost]) -> str:
    """The costs as a table of Markdown; ``a path``: the CPU of the whole compile for each Ingress."""
    lines = [
        "| Ingresses | objects | compiled, s of CPU | of that a path, ms | document, s of CPU | RSS, MiB "
        "| one endpoint, ms of CPU | objects | one path of an Ingress, ms of CPU | objects |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        shown = (cost.objects, cost.compiled, 1000 * cost.compiled / cost.ingresses, cost.assembled, cost.rss)
        cells = " | ".join(map(figures.number, shown))
        changes = (
            figures.number(1000 * cost.endpoint),
            f"{cost.endpoint_objects}",
            figures.number(1000 * cost.ingress),
        )
        lines.append(f"| {cost.ingresses:,} | {cells} | {' | '.join(changes)} | {cost.ingress_objects} |")
    return "\n".join(lines)


BENCH = Bench(
    "tests.perf.application_gateways", __doc__, WORLDS, Cost, lambda size: measure(size, CHANGES), table, BEGIN, END
)

if __name__ == "__main__":
    run(BENCH)
