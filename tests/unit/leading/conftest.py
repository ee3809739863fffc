"""Tests of leading run in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.faulty_store import FaultyStore
from tests.unit.leading.virtual_time import VirtualLoop, now


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Nothing waits for real."""
    return "asyncio", {"loop_factory": VirtualLoop}


@pytest.fixture
def store() -> FaultyStore:
    """A store whose leases end by virtual time."""
    return FaultyStore(clock=now)
