"""The sample tenant in memory, for plans over it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.offline.planned_system import PlannedSystem, texts

TENANT = Path(__file__).parents[3] / "sample" / "tenant.yml"


@pytest.fixture
async def tenant() -> PlannedSystem:
    system = PlannedSystem("contrail")
    await system.offline.seed()
    await system.apply(texts(TENANT.read_text()))
    return system
