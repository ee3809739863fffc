"""What the ancestors got wrong (they are named in each file): each defect is a test that is red on the ancestor."""

from __future__ import annotations

import pytest

from tests.defects.tenancy import Tenancy
from tests.support.box_system import BoxSystem


@pytest.fixture
async def tenancy(anyio_backend: str) -> Tenancy:
    """The shipped compiler over a world with its seeds."""
    return await Tenancy().begin()


@pytest.fixture
async def plant(anyio_backend: str) -> BoxSystem:
    """A small compiler of two kinds whose server fails on demand."""
    return await BoxSystem().begin()
