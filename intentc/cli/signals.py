"""How a service is asked to end: SIGTERM and SIGINT cancel its scope, and it drains.

Further signals change nothing while it does: whoever sends both must not leave a server or a data directory behind.
What must not wait for a drain is ended by SIGKILL.

The handlers are Python's own, not the event loop's: those hear of signals through a buffer that the ticks of an
evaluation past its budget fill up, and a SIGTERM that comes then would be lost (docs/adr/0006).
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

import anyio

_LOG = logging.getLogger("intentc")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@asynccontextmanager
async def ended_by_signals() -> AsyncIterator[anyio.CancelScope]:
    """Gives a scope around the block that is cancelled at the first signal that asks the process to end."""
    scope = anyio.CancelScope()
    loop = asyncio.get_running_loop()

    def end(received: signal.Signals) -> None:
        _LOG.info("%s: %s", received.name, "ending already" if scope.cancel_called else "ending")
        scope.cancel()

    def hear(number: int, frame: FrameType | None) -> None:
        # Anything may be running in this thread, an author's code included: only the loop may act.
        loop.call_soon_threadsafe(end, signal.Signals(number))

    former = {number: signal.signal(number, hear) for number in _SIGNALS}
    try:
        with scope:
            yield scope
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
