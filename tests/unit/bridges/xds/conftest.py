"""The event loop of tests with gRPC streams."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.bridges.xds.late_answers import LoopWithStreams


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """No test fails for what gRPC reports of the one before."""
    return "asyncio", {"loop_factory": LoopWithStreams}
