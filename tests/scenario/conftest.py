"""What scenarios may use."""

from __future__ import annotations

import pytest

from tests.scenario.scene import Scene


@pytest.fixture
async def scene() -> Scene:
    """An installation with the project ``blue``, nothing counted yet."""
    scene = await Scene().begin()
    scene.forget()
    return scene
