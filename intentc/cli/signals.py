"""How a service is asked to end: SIGTERM and SIGINT cancel its scope, and it drains.

Further signals change nothing while it does: whoever sends both must not leave a server or a data directory behind.
What must not wait for a drain is ended by SIGKILL.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

_LOG = logging.getLogger("intentc")


@asynccontextmanager
async def ended_by_signals() -> AsyncIterator[anyio.CancelScope]:
    """Gives a scope around the block that is cancelled at the first signal that asks the process to end."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with anyio.create_task_group() as listening:
            scope = anyio.CancelScope()

            async def listen() -> None:
                async for received in signals:
                    _LOG.info("%s: %s", received.name, "ending already" if scope.cancel_called else "ending")
                    scope.cancel()

            listening.start_soon(listen)
            with scope:
                yield scope
            listening.cancel_scope.cancel()
