"""The bench in its short form, with bounds that only a broken path misses: of CPU, memory and work.

A busy machine has no speed: how fast everything is stands in docs/benchmarks.md, which ``make bench`` writes.
"""

from __future__ import annotations

import pytest

from tests.perf import figures
from tests.perf.__main__ import SHORT, measure

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_the_path_costs_what_it_should_within_generous_bounds() -> None:
    found = await measure(SHORT)
    sink, server = found.sink[0], found.server[0]
    assert figures.middle(sink, lambda run: run.cpu) < 3_000, "µs of the compiler a group"
    assert figures.rate(sink) > 0 < figures.rate(server)
    assert found.memory["cached"] < 6_000
    assert found.memory["evaluated"] < 10_000
    assert found.storm.evaluations <= 100
    assert found.changes[0].through > 0
    text = figures.tables(found)
    for words in ("Through our API server", "evaluations of a hub", "restart"):
        assert words in text
