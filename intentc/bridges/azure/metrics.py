"""Defines the Prometheus metrics of the publisher, read from its status at each scrape (docs/operating.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

LEADING = "intentc_appgw_leading"
APPLIED = "intentc_appgw_applied"
DOCUMENTS = "intentc_appgw_documents"
PASSES = "intentc_appgw_passes"
CONTENDED = "intentc_appgw_contended_parts"


def metrics(status: Mapping[str, Any]) -> Iterator[Metric]:
    """The metrics of one scrape, from ``Bridge.status``."""
    yield GaugeMetricFamily(LEADING, "1 if this process publishes.", value=int(status["leading"]))
    yield GaugeMetricFamily(APPLIED, "1 if the gateway has what was compiled.", value=int(bool(status["converged"])))
    yield CounterMetricFamily(DOCUMENTS, "Documents that Azure accepted.", value=status["documents"])
    contended = len(status["contended"])
    yield GaugeMetricFamily(CONTENDED, "Parts of the gateway that another writer reverts, and that wait.", contended)
    passes = CounterMetricFamily(PASSES, "Looks at the gateway, by what they found.", labels=["state"])
    for state, count in sorted(status["counters"].items()):
        passes.add_metric([state], count)
    yield passes
