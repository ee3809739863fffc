"""Fixtures for tests of the engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.reconcile.backoff import Backoff
from tests.support.box_system import BoxSystem


@pytest.fixture
async def box_system(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BoxSystem]:
    """A box system that has made its first pass over nothing. What backs off stays so until the test ends it
    (``retry``), however slow the machine is; back-offs that a test leaves behind are called off."""
    slow = Backoff(60.0, 60.0)
    monkeypatch.setattr("intentc.engine.jobs.RETRY", slow)
    monkeypatch.setattr("intentc.engine.objects.RETRY", slow)
    box_system = await BoxSystem().begin()
    yield box_system
    box_system.close()
