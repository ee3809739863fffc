"""The fault scenarios F01 … F25: one file each, named by its number; what each found is in ``TRACK_RECORD.md``.

How to add one:

- With processes (a signal, a kill, a broken wire): take the fixture ``bench`` (etcd of the whole run) or ``own_bench``
  (an etcd of its own, to be stopped, compacted, restored). ``bench.start()`` starts a compiler, ``crash="create.sent"``
  one that dies there; ``bench.to_etcd`` and ``bench.to_api`` are the wires; ``bench.world`` is the person.
- Inside this process (a misbehaving API server, counted requests): take the fixture ``faulty``.
- Put content in by ``load.Tenants``, changes at a rate by ``load.offer``; a run that did not reach its load fails.
- Sizes and durations stand in ``scale``: each scenario has a short form (a few seconds) and the full load
  (``make faults``). Never a sleep in place of a condition: ``Process.quiet``, ``until_ready``, ``died``.
- End with ``oracles.check``; its docstring says what it demands. Seeds are printed, ``INTENTC_SEED`` replays one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.faulty_system import FaultySystem, faulty_system
from tests.faults.process_system import ProcessSystem, running_bench
from tests.integration.conftest import etcd, etcd_store, fresh_etcd, fresh_etcd_store
from tests.support.live_fixtures import bare_world, loaded, world

__all__ = ["bare_world", "etcd", "etcd_store", "fresh_etcd", "fresh_etcd_store", "loaded", "world"]


@pytest.fixture
async def bench(etcd: Etcd, etcd_store: EtcdStore, loaded: Loaded, tmp_path: Path) -> AsyncIterator[ProcessSystem]:
    """A bench on the etcd that all tests of a run share: don't stop or compact it."""
    async with running_bench(etcd_store, [etcd.endpoint], loaded, tmp_path) as running:
        yield running


@pytest.fixture
async def own_bench(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore, loaded: Loaded, tmp_path: Path
) -> AsyncIterator[ProcessSystem]:
    """A bench on an etcd of its own."""
    async with running_bench(fresh_etcd_store, [fresh_etcd.endpoint], loaded, tmp_path) as running:
        yield running


@pytest.fixture
async def faulty(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultySystem]:
    """A system on the etcd of the whole run whose API server misbehaves on demand."""
    async with faulty_system(etcd_store, loaded, monkeypatch) as made:
        yield made
