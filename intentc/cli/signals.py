"""Handles the signals of a service: SIGTERM and SIGINT end it, SIGHUP reloads its configuration.

SIGTERM and SIGINT cancel the service's scope, and it drains. Further signals change nothing while it drains, so that a
second signal leaves no server and no data directory behind; SIGKILL ends a service without a drain. SIGHUP means
"reload", unless the terminal was closed: then it ends the service, too.

The handlers are Python's own, not the event loop's: the loop's read signals from a buffer that the ticks of an
evaluation over its budget fill up, and a SIGTERM would be lost then (docs/adr/0006).
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType

import anyio

from .hangups import gone, take
from .hangups import terminal as terminal_now

_LOG = logging.getLogger("intentc")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@asynccontextmanager
async def ended_by_signals(reload: Callable[[], None] | None = None) -> AsyncIterator[anyio.CancelScope]:
    """A scope around the block that the first SIGTERM or SIGINT cancels. ``reload``: called in the loop at each SIGHUP,
    and for an earlier one (``hangups.heed``); None keeps the current handler."""
    scope = anyio.CancelScope()
    loop = asyncio.get_running_loop()
    terminal = terminal_now()

    def act(received: signal.Signals) -> None:
        if received is not signal.SIGHUP or reload is None or gone(terminal):
            _LOG.info("%s: %s", received.name, "ending already" if scope.cancel_called else "ending")
            scope.cancel()
        else:
            _LOG.info("SIGHUP: reloading")
            reload()

    def hear(number: int, frame: FrameType | None) -> None:
        # This thread may be running anything, an author's code included: only the loop may act.
        loop.call_soon_threadsafe(act, signal.Signals(number))

    heard = _SIGNALS if reload is None else (*_SIGNALS, signal.SIGHUP)
    former = {number: signal.signal(number, hear) for number in heard}
    try:
        with scope:
            if reload is not None and (early := take()).heard:
                terminal = terminal if terminal is not None else early.terminal
                act(signal.SIGHUP)
            yield scope
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
