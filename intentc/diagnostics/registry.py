"""Makes a registry of metrics, one for each engine or bridge, which are measured at each scrape.

Why it exists: ``metrics`` defines those of a compiler, each bridge its own, and all of them show the process's figures
in addition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector


def registry_of(measured: Callable[[], Iterable[Metric]]) -> CollectorRegistry:
    """A registry of its own (several engines may run in one process) with the process's figures, and with what
    ``measured`` gives at each scrape."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Measured(measured))
    return registry


class _Measured(Collector):
    def __init__(self, measured: Callable[[], Iterable[Metric]]) -> None:
        self._measured = measured

    def collect(self) -> Iterable[Metric]:
        return self._measured()
