"""How a service is asked to end, and to read its configuration again.

SIGTERM and SIGINT cancel its scope, and it drains. Further signals change nothing while it does: whoever sends both
must not leave a server or a data directory behind. What must not wait for a drain is ended by SIGKILL. SIGHUP means
"read again", unless it says what it said at first, that the terminal is gone: then it ends the service, too.

The handlers are Python's own, not the event loop's: those hear of signals through a buffer that the ticks of an
evaluation past its budget fill up, and a SIGTERM that comes then would be lost (docs/adr/0006).
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
    """Gives a scope around the block that is cancelled at the first signal that asks the process to end. ``reload``: is
    called, in the loop, at each SIGHUP, and for one that came before (``hangups.heed``); None leaves that as it was."""
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
        # Anything may be running in this thread, an author's code included: only the loop may act.
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
