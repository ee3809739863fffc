"""The figures of an xDS server for Prometheus.

Why it exists: names of metrics are an interface, and stand in one place; a registry of their own lets several servers
run in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from .kinds import Type

PUSHES = "intentc_xds_pushes"
ACKNOWLEDGEMENTS = "intentc_xds_acknowledgements"
REFUSALS = "intentc_xds_refusals"
STREAMS = "intentc_xds_streams"
SILENT_STREAMS = "intentc_xds_silent_streams"
ABORTED = "intentc_xds_aborted_streams"
ELEMENTS = "intentc_xds_elements"
PUBLISHING = "intentc_xds_publishing_seconds"
ANSWERING = "intentc_xds_answering_seconds"

_SHORT = {
    Type.SECRETS: "secrets",
    Type.CLUSTERS: "clusters",
    Type.ENDPOINTS: "endpoints",
    Type.LISTENERS: "listeners",
    Type.ROUTES: "routes",
}


class Figures:
    """Counted by the streams as they go; ``status`` is asked at each scrape (see ``Server.status``)."""

    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._counters = {
            "push": Counter(PUSHES, "Responses sent to Envoys.", ["type"], registry=self.registry),
            "ack": Counter(ACKNOWLEDGEMENTS, "Responses that an Envoy took.", ["type"], registry=self.registry),
            "nack": Counter(REFUSALS, "Responses that an Envoy refused.", ["type"], registry=self.registry),
        }
        self._aborted = Counter(
            ABORTED, "Streams that were aborted for what the client sent.", ["limit"], registry=self.registry
        )
        self.publishing = Histogram(
            PUBLISHING, "Time to assemble what had changed.", registry=self.registry, buckets=(0.001, 0.01, 0.1, 1, 10)
        )
        self._answering = Histogram(
            ANSWERING,
            "Time from a response to its answer.",
            ["type"],
            registry=self.registry,
            buckets=(0.01, 0.1, 1, 10),
        )
        self.registry.register(_Status(status))

    def count(self, what: str, kind: Type) -> None:
        """One ``push``, ``ack`` or ``nack``."""
        self._counters[what].labels(_SHORT[kind]).inc()

    def refused(self, limit: str) -> None:
        """A stream was aborted for a limit."""
        self._aborted.labels(limit).inc()

    def answered(self, kind: Type, seconds: float) -> None:
        """An Envoy answered a response after ``seconds``."""
        self._answering.labels(_SHORT[kind]).observe(seconds)


class _Status(Collector):
    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield GaugeMetricFamily(STREAMS, "Envoys that are connected.", value=status["streams"])
        about = "Envoys that are connected and do not answer: nobody waits for them."
        yield GaugeMetricFamily(SILENT_STREAMS, about, value=status["silent_streams"])
        elements = GaugeMetricFamily(ELEMENTS, "Elements by how they stand.", labels=["state"])
        for state in ("all", "refused", "held"):
            elements.add_metric([state], status["elements"][state])
        yield elements
