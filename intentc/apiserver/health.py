"""Says whether the API server can serve requests, and exports how much of each pool is taken to Prometheus.

Why it exists: ``/readyz`` needs no token, so an answer is reused for 1 s, and one read serves all requests meanwhile. A
pool that many tenants draw from must not run out unnoticed (docs/operating.md); the pools of addresses, one for each
subnet, and families are left out.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterable, Iterator

import anyio
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Store

from .pools import Use

_HOLDS_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0


class Readiness:
    """The readiness of a server whose resources are at ``/<path>/`` in ``store``. ``clock``: seconds."""

    def __init__(self, store: Store, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._path = path
        self._clock = clock
        self._asking = anyio.Lock()
        self._lack = ""
        self._since = float("-inf")

    async def lack(self) -> str:
        """Why requests can't be served; empty if they can."""
        async with self._asking:
            if self._clock() - self._since >= _HOLDS_SECONDS:
                self._lack = await self._ask()
                self._since = self._clock()
            return self._lack

    async def _ask(self) -> str:
        try:
            with anyio.fail_after(_PATIENCE_SECONDS):
                await self._store.range(f"/{self._path}/", keys_only=True)
        except Failure as error:
            return f"etcd: {error}"
        except TimeoutError:
            return f"etcd: no answer in {_PATIENCE_SECONDS:g} s"
        return ""


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
