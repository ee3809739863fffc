"""The world "tenant" of the bench in its short form: each object is written about once, and nothing by a restart.

A busy machine has no speed: how fast everything is stands in docs/benchmarks.md, which ``make bench`` writes.
"""

from __future__ import annotations

import pytest

from tests.perf.tenants import measure, table

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_tenants_are_compiled_with_one_write_for_each_object_and_reference() -> None:
    found = await measure(projects=2, changes=1)
    assert found.written > 70
    assert found.written <= found.writes <= 1.05 * (found.written + found.references)
    assert found.rule[0] > 0 < found.service[0]
    assert "objects and references" in table(found)
