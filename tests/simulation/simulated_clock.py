"""An event loop whose time passes only in the simulation: it jumps to the next timer whenever nothing is ready.

Why it exists: the real engine with its back-offs, heartbeats and leases lives through minutes in milliseconds, and the
same way each time. Nothing outside of the loop may take part: no sockets, no threads. Code that reads another clock
than the loop's must be given this one.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from anyio import to_thread

Result = TypeVar("Result")

TURN = 0.000_05
"""Seconds that each turn of the loop takes: whoever never waits doesn't stop the clock."""


class NothingWillHappen(AssertionError):
    """Every task waits, and no timer is set that could wake one: the program hangs."""


class _Jump(selectors.SelectSelector):
    """Waits for nothing: the time that it should have waited is over at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingWillHappen("every task waits, and no timer is set")
        self.now += TURN + timeout
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Starts at second 0."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


def now() -> float:
    """Seconds, as the running loop counts them: the clock for all that would read the machine's."""
    return asyncio.get_running_loop().time()


@contextmanager
def simulated(seed: int = 0) -> Iterator[asyncio.Runner]:
    """A runner in simulated time. ``seed`` decides all that is left to chance, jitter of back-offs say. What is left
    running in the end is cancelled."""
    chance, elsewhere = random.getstate(), to_thread.run_sync
    random.seed(seed)
    to_thread.run_sync = _in_place  # type: ignore[assignment]
    try:
        with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
            yield runner
    finally:
        to_thread.run_sync = elsewhere
        random.setstate(chance)


def simulate(body: Callable[..., Coroutine[Any, Any, Result]], *args: Any, seed: int = 0) -> Result:
    """Run ``body(*args)`` in simulated time; the same body with the same seed runs the same way."""
    with simulated(seed) as runner:
        return runner.run(body(*args))


async def _in_place(call: Callable[..., Result], *args: Any, **_: Any) -> Result:
    """Work for another thread is done here, at once: a thread would take time that nobody simulates."""
    await asyncio.sleep(0)
    return call(*args)
