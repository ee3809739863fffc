"""Exports how much of each pool is taken to Prometheus, and says who may ask.

Why it exists: a pool that many tenants draw from must not run out unnoticed (docs/operating.md). The pools of addresses
are left out, one for each subnet, and so are families. ``service`` reads the pools at each scrape.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from .shares import Use

SIZE = "intentc_pool_size"
USED = "intentc_pool_used"


class _Pools(Collector):
    def __init__(self, uses: Iterable[Use]) -> None:
        self._uses = tuple(uses)

    def collect(self) -> Iterator[Metric]:
        size = GaugeMetricFamily(SIZE, "Numbers of a pool.", labels=["pool"])
        used = GaugeMetricFamily(USED, "Numbers of a pool that are taken.", labels=["pool"])
        for use in self._uses:
            size.add_metric([use.pool], use.size)
            used.add_metric([use.pool], use.used)
        yield from (size, used)


def exposition(uses: Iterable[Use]) -> bytes:
    """The metrics of one scrape, as text."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Pools(uses))
    return generate_latest(registry)


def is_scraper(authorization: str, token: str) -> bool:
    """Whether a request with this header has the bearer token of ``intentc.api.metrics_token``."""
    scheme, _, given = authorization.partition(" ")
    return bool(token) and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
