"""Defines the Prometheus metrics of the Kubernetes bridge, read from its status at each scrape.

Why it exists: names of metrics are an interface; ``docs/operating.md`` lists them.

It keeps no state: ``status`` has the figures, and ``diagnostics.metrics`` calls ``metrics`` at each scrape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

LEADING = "intentc_kubernetes_leading"
OBJECTS = "intentc_kubernetes_objects"
COPIES = "intentc_kubernetes_copies"
WATCHING = "intentc_kubernetes_watching"
SYNCED = "intentc_kubernetes_synced"
WITHHELD = "intentc_kubernetes_withheld_deletes"
REJECTED = "intentc_kubernetes_rejected"
REQUESTS = "intentc_kubernetes_watch"
PROBLEMS = "intentc_kubernetes_problems"
REPORTED = "intentc_kubernetes_problems_reported"
PROBLEMS_WATCHING = "intentc_kubernetes_problems_watching"
WRITES = "intentc_kubernetes_writes"


def metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    """The metrics of one scrape, from ``Bridge.status``."""
    yield GaugeMetricFamily(LEADING, "1 if this process mirrors.", value=int(status["leading"]))
    kinds = status["kinds"]
    for name, about, field in (
        (OBJECTS, "Objects in the cluster, by kind.", "objects"),
        (COPIES, "Copies in etcd, by kind.", "copies"),
        (WITHHELD, "Copies whose deletion waits for approval.", "withheld_deletes"),
        (REJECTED, "Objects that can't be copied.", "rejected"),
    ):
        family = GaugeMetricFamily(name, about, labels=["kind"])
        for kind, found in kinds.items():
            family.add_metric([kind], found[field])
        yield family
    watching = GaugeMetricFamily(WATCHING, "1 if a watch of the kind is open.", labels=["kind"])
    synced = GaugeMetricFamily(SYNCED, "1 if etcd has held the whole kind.", labels=["kind"])
    counted = CounterMetricFamily(REQUESTS, "Events, lists, cuts … of the watch, by kind.", labels=["kind", "what"])
    for kind, found in kinds.items():
        watching.add_metric([kind], int(found["phase"] == "watching"))
        synced.add_metric([kind], int(found["synced"]))
        for what, number in sorted(found["counters"].items()):
            counted.add_metric([kind, what], number)
    yield from (watching, synced, counted)
    problems = status["problems"]
    for name, about, value in (
        (PROBLEMS, "Problems of objects, each of which gets an Event.", problems["present"]),
        (REPORTED, "Those that have had an Event.", problems["reported"]),
        (PROBLEMS_WATCHING, "1 if a watch of what compilers report is open.", int(problems["watch"] == "watching")),
    ):
        yield GaugeMetricFamily(name, about, value=value)
    writes = CounterMetricFamily(WRITES, "Writes to the API server, by outcome.", labels=["outcome"])
    for outcome, number in sorted(status["counters"].items()):
        writes.add_metric([outcome], number)
    yield writes
