"""What tests of the pipeline may use."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.pipeline.plant import Plant


@pytest.fixture
async def plant() -> AsyncIterator[Plant]:
    """A plant that has made its first pass over nothing. Back-offs that a test leaves behind are called off."""
    plant = await Plant().begin()
    yield plant
    plant.parts.objects.close()
    plant.parts.jobs.close()
