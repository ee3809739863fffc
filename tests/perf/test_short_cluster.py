"""The bench of a cluster in its short form: what must not depend on the machine."""

from __future__ import annotations

import pytest

from tests.perf.cluster import SHORT, pods, route, table
from tests.perf.cluster import of_pods as rows_of_pods
from tests.perf.cluster import of_route as rows_of_route

pytestmark = pytest.mark.anyio


async def test_heartbeats_write_nothing() -> None:
    passed = await pods(SHORT)
    assert passed.written == 0
    assert "| writes to etcd because of them | 0 | 0 |" in table(rows_of_pods(passed))


@pytest.mark.envoy
@pytest.mark.etcd
@pytest.mark.http
async def test_every_change_reaches_envoy() -> None:
    routed = await route(SHORT)
    assert len(routed.changes) == SHORT.changes
    assert 0 < routed.copied <= routed.all
    assert 0 < routed.first <= routed.all
    assert "p99, ms" in table(rows_of_route(routed))
