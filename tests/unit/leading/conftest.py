"""Tests of leading run in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.watch.memory import MemoryStore
from tests.unit.leading.virtual_time import VirtualLoop, now


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Nothing waits for real."""
    return "asyncio", {"loop_factory": VirtualLoop}


@pytest.fixture
def store() -> MemoryStore:
    """A store whose leases end by virtual time."""
    return MemoryStore(clock=now)
