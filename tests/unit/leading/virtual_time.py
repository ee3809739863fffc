"""Simulated time that a test advances while nothing runs, as for a stopped and resumed process."""

from __future__ import annotations

import asyncio

from tests.simulation.simulated_clock import SimulatedLoop


class VirtualLoop(SimulatedLoop):
    """A simulated loop with a hand on its clock."""

    def jump(self, seconds: float) -> None:
        """Let so much time pass at once."""
        self._jump.now += seconds


def now() -> float:
    """The running loop's time, in seconds."""
    return asyncio.get_running_loop().time()


def jump(seconds: float) -> None:
    """Let so much time of the running loop pass at once."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.jump(seconds)
