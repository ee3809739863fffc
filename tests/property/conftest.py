"""How long the properties search: ``ci`` (the default, the same examples every time) or ``HYPOTHESIS_PROFILE=long``.

A failing example prints the blob that replays it (``@reproduce_failure``).
"""

from __future__ import annotations

import os

import pytest

from tests.property.profiles import load
from tests.simulation.clock import SimulatedLoop

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Everything here happens in simulated time."""
    return "asyncio", {"loop_factory": SimulatedLoop}
