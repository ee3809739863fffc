"""What the ancestors got wrong (they are named in each file): each defect is a test that is red on the ancestor."""

from __future__ import annotations

import pytest

from tests.support.box_system import BoxSystem
from tests.support.contrail_system import ContrailSystem


@pytest.fixture
async def system(anyio_backend: str) -> ContrailSystem:
    """The shipped compiler over the seeds and a project ``blue``."""
    return await ContrailSystem().begin()


@pytest.fixture
async def box_system(anyio_backend: str) -> BoxSystem:
    """A small compiler of two kinds whose server fails on demand."""
    return await BoxSystem().begin()
