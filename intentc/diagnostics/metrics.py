"""The figures of a running compiler for Prometheus, read from its status when they are asked for.

Why it exists: metric names are an interface, so they stand in one place; and counting in the engine's own integers
costs the hot path nothing. What the figures are made of is the engine's business (``Observed.status``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from .observed import Observed

CONVERGED = "intentc_converged"
HEALTHY = "intentc_healthy"
READY = "intentc_ready"
APPLIED_REVISION = "intentc_applied_revision"
QUEUE_DEPTH = "intentc_queue_depth"
INTENTS = "intentc_intents"
EVALUATIONS = "intentc_evaluations"
IDLE_WALKS = "intentc_idle_walks"
WRITES = "intentc_writes"
MISSING_REACTIONS = "intentc_missing_reactions"
MISSED_EVENTS = "intentc_missed_events"
LOOP_LAG = "intentc_loop_lag_seconds"
AUDIT_RUNS = "intentc_audit_runs"
AUDIT_MISMATCHES = "intentc_audit_mismatches"
AUDIT_LAST_SUCCESS = "intentc_audit_last_success_timestamp_seconds"

PERMITTED = "intentc_writes_permitted"
LEADING = "intentc_leading"
TAKEOVERS = "intentc_takeovers"
RESTORED = "intentc_store_restored"
FENCES = "intentc_api_server_fences"

_COUNTERS = {
    "drift_repairs": ("intentc_drift_repairs", "Objects put right that somebody else had changed."),
    "fights": ("intentc_fights", "Objects left alone for a while, since another writer sets them back."),
    "pauses": ("intentc_api_server_pauses", "Pauses that the API server asked for."),
    "evaluations": (EVALUATIONS, "Evaluations of intents."),
    "idle_walks": (IDLE_WALKS, "Intents named by the reaction map alone and answered without evaluation."),
    "writes": (WRITES, "Writes that the API server acknowledged."),
}
"""Name under ``counters`` in the status → (metric, what it counts)."""


class StatusCollector(Collector):
    """Turns ``Observed.status`` into metrics at each scrape."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed

    def collect(self) -> Iterator[Metric]:
        status: Mapping[str, Any] = self._observed.status()
        yield _gauge(CONVERGED, "1 if nothing is left to do for the applied inputs.", status.get("converged", False))
        yield _gauge(HEALTHY, "1 if nothing is held or refused.", status.get("healthy", False))
        yield _gauge(READY, "1 if the first list was applied and the store is heard.", self._observed.ready()[0])
        yield _gauge(APPLIED_REVISION, "The last revision of etcd that was applied.", status.get("applied_revision", 0))
        yield _by(GaugeMetricFamily(QUEUE_DEPTH, "Jobs that wait, by queue.", labels=["queue"]), status.get("queue"))
        yield _by(GaugeMetricFamily(INTENTS, "Intents by their state.", labels=["state"]), status.get("counts"))
        lag = status.get("loop_lag_seconds", 0.0)
        yield _gauge(LOOP_LAG, "How late timers come lately: what a stage that holds the loop does to all others.", lag)
        missed = status.get("watch", {}).get("missed_events", 0)
        yield CounterMetricFamily(MISSED_EVENTS, "Events that only the background relist found.", value=missed)
        counters: Mapping[str, Any] = status.get("counters", {})
        for name, (metric, text) in _COUNTERS.items():
            if name in counters:
                yield CounterMetricFamily(metric, text, value=counters[name])
        permitted = status.get("writing", {}).get("permitted", True)
        yield _gauge(PERMITTED, "1 if writes may be begun: it leads, observes not, trusts the store.", permitted)
        leading = status.get("leading")
        if leading is not None:
            yield _gauge(LEADING, "1 if this process leads.", leading["leads"])
            yield CounterMetricFamily(TAKEOVERS, "How often this process took over.", value=leading["takeovers"])
        restored = status.get("watch", {}).get("restored", 0)
        yield CounterMetricFamily(RESTORED, "How often etcd was found put back to an older state.", value=restored)
        fences = status.get("api_server", {}).get("fences")
        if fences is not None:
            yield _gauge(FENCES, "1 if the API server refuses writes of those who lead no more.", fences)
        yield from _audit(status.get("audit"))
        missing = CounterMetricFamily(
            MISSING_REACTIONS, "Evaluations that a read called for and the reaction map did not.", labels=["pair"]
        )
        yield _by(missing, counters.get("missing_reactions"))


def registry_of(observed: Observed) -> CollectorRegistry:
    """A registry of its own (several engines may run in one process) with the status and the process's figures."""
    registry = CollectorRegistry()
    registry.register(StatusCollector(observed))
    ProcessCollector(registry=registry)
    return registry


def _audit(figures: Mapping[str, Any] | None) -> Iterator[Metric]:
    if figures is not None:
        text = "Comparisons of the engine with a compile from scratch that brought a report."
        yield CounterMetricFamily(AUDIT_RUNS, text, value=figures["runs"])
        text = "Objects about which a compile from scratch found the engine wrong."
        yield CounterMetricFamily(AUDIT_MISMATCHES, text, value=figures["mismatches"])
        yield _gauge(AUDIT_LAST_SUCCESS, "When such a comparison was judged last; 0: never.", figures["last_success"])


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))


def _by(family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float] | None) -> Metric:
    for label, value in sorted((values or {}).items()):
        family.add_metric([label], float(value))
    return family
