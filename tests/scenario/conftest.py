"""What scenarios may use."""

from __future__ import annotations

import pytest

from tests.support.contrail_system import ContrailSystem


@pytest.fixture
async def system() -> ContrailSystem:
    """An installation with the project ``blue``, nothing counted yet."""
    system = await ContrailSystem().begin()
    system.forget()
    return system
