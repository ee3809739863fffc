"""How a service is asked to end: SIGTERM and SIGINT cancel its scope, and it drains."""

from __future__ import annotations

import logging
import signal

import anyio

_LOG = logging.getLogger("intentc")


async def cancel_on_signal(scope: anyio.CancelScope) -> None:
    """Cancel ``scope`` at the first signal that asks the process to end; the handlers go with this task."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for received in signals:
            _LOG.info("%s: ending", received.name)
            scope.cancel()
            return
