"""Defines the Prometheus metrics of the publisher, read from its status at each scrape (docs/operating.md).

No state but the registry.

Touches: metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

LEADING = "intentc_appgw_leading"
APPLIED = "intentc_appgw_applied"
DOCUMENTS = "intentc_appgw_documents"
PASSES = "intentc_appgw_passes"


def registry_of(status: Callable[[], dict[str, Any]]) -> CollectorRegistry:
    """A registry whose metrics come from ``status`` (``Bridge.status``)."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Status(status))
    return registry


class _Status(Collector):
    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        status = self._status()
        yield GaugeMetricFamily(LEADING, "1 if this process publishes.", value=int(status["leading"]))
        yield GaugeMetricFamily(APPLIED, "1 if the gateway has what was compiled.", value=int(status["converged"]))
        yield CounterMetricFamily(DOCUMENTS, "Documents that Azure accepted.", value=status["documents"])
        passes = CounterMetricFamily(PASSES, "Looks at the gateway, by what they found.", labels=["state"])
        for state, count in sorted(status["counters"].items()):
            passes.add_metric([state], count)
        yield passes
