"""Defines the Prometheus metrics of an xDS server; each server has its own registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric

from intentc.diagnostics.metrics import registry_of

from .elements import Type

PUSHES = "intentc_xds_pushes"
ACKNOWLEDGEMENTS = "intentc_xds_acknowledgements"
REJECTIONS = "intentc_xds_rejections"
STREAMS = "intentc_xds_streams"
SILENT_STREAMS = "intentc_xds_silent_streams"
ABORTED = "intentc_xds_aborted_streams"
ELEMENTS = "intentc_xds_elements"
PUBLISHING = "intentc_xds_publishing_seconds"

_SHORT = {
    Type.SECRETS: "secrets",
    Type.CLUSTERS: "clusters",
    Type.ENDPOINTS: "endpoints",
    Type.LISTENERS: "listeners",
    Type.ROUTES: "routes",
}


class Figures:
    """The metrics. Streams count events; ``status`` is called at each scrape (see ``Server.status``)."""

    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        self.registry = registry_of(lambda: _metrics(status()))
        self._counters = {
            "push": Counter(PUSHES, "Responses sent to Envoys.", ["type"], registry=self.registry),
            "ack": Counter(ACKNOWLEDGEMENTS, "Responses that an Envoy accepted.", ["type"], registry=self.registry),
            "nack": Counter(REJECTIONS, "Responses that an Envoy rejected.", ["type"], registry=self.registry),
        }
        self._aborted = Counter(
            ABORTED, "Streams aborted because the client exceeded a limit.", ["limit"], registry=self.registry
        )
        self.publishing = Histogram(
            PUBLISHING, "Time to assemble changes.", registry=self.registry, buckets=(0.001, 0.01, 0.1, 1, 10)
        )

    def count(self, what: str, kind: Type) -> None:
        """Count one ``push``, ``ack`` or ``nack``."""
        self._counters[what].labels(_SHORT[kind]).inc()

    def aborted(self, limit: str) -> None:
        """Count a stream that was aborted for a limit."""
        self._aborted.labels(limit).inc()


def _metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    yield GaugeMetricFamily(STREAMS, "Connected Envoys.", value=status["streams"])
    about = "Connected Envoys that do not answer; changes do not wait for them."
    yield GaugeMetricFamily(SILENT_STREAMS, about, value=status["silent_streams"])
    elements = GaugeMetricFamily(ELEMENTS, "Elements by state.", labels=["state"])
    for state in ("all", "rejected", "held"):
        elements.add_metric([state], status["elements"][state])
    yield elements
