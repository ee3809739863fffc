"""A bridge that can't follow what compilers report says so, and what to do."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.bridges.kubernetes.serving import Bridge, Settings
from intentc.bridges.process import running
from intentc.loading.schemas import load_schema
from intentc.model.bridge_keys import problem_reports_prefix
from intentc.reconcile.failures import Denied, Failure, Unavailable
from intentc.watch.memory import MemoryStore
from tests.support.kube.fake_cluster import FakeCluster, running_fake_cluster
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
REPORTS = problem_reports_prefix("test")


class _Writer:
    """Nothing is written."""


class _Store(MemoryStore):
    """Fails at what is below the reports."""

    def __init__(self, error: Failure) -> None:
        super().__init__()
        self.error: Failure | None = error

    async def range(self, key: str, *given: Any, **named: Any) -> Any:
        if key.startswith(REPORTS) and self.error is not None:
            raise self.error
        return await super().range(key, *given, **named)


def _install(cluster: FakeCluster) -> None:
    cluster.serve("/api/v1/services", "Service")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (Denied("permission denied"), "permission denied; run the script of `intentc etcd-roles` again"),
        (Unavailable("no leader"), "no leader"),
    ],
)
async def test_the_status_says_why_reports_are_not_watched_until_they_are(error: Failure, advice: str) -> None:
    store = _Store(error)
    kinds = mirrored_kinds(load_schema("ambassador"), ("service",))
    settings = Settings("test", "default", "one", tend_seconds=0.01)
    async with running_fake_cluster(_install) as cluster:
        client = Cluster(cluster.access)
        async with running(Bridge(client, store, _Writer(), kinds, settings)) as bridge:  # type: ignore[arg-type]
            await until(lambda: bridge.status()["problems"]["error"] == advice)
            assert bridge.status()["attention"] == [
                f"what compilers report gets no new Events, since it is not watched in etcd: {advice}"
            ]
            await until(lambda: bridge.ready()[0])
            store.error = None
            await until(lambda: bridge.status()["problems"]["watch"] == "watching")
            assert bridge.status()["attention"] == []
        await client.aclose()
