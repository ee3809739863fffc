"""Properties live in simulated time. A failing example prints the blob that replays it (``@reproduce_failure``)."""

from __future__ import annotations

import pytest

from tests.simulation.simulated_clock import SimulatedLoop


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Everything here happens in simulated time."""
    return "asyncio", {"loop_factory": SimulatedLoop}
