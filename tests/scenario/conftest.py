"""What scenarios may use."""

from __future__ import annotations

import pytest

from tests.support.memory_system import MemorySystem


@pytest.fixture
async def scene() -> MemorySystem:
    """An installation with the project ``blue``, nothing counted yet."""
    scene = await MemorySystem().begin()
    scene.forget()
    return scene
