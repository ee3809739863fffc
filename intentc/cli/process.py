"""Runs a command as the service runs: with its garbage collector and watchdog, ended by signals, reloaded on SIGHUP.

Why apart: these belong to the process, not to the engine. Commands that compile run so, too. ``intentc.service.reload``
puts a configuration that was read again into force.

State: the process's settings, which it changes: signal handlers, garbage collector, watchdog, and at a reload logs. It
calls the reload that it gets.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

import anyio

from .hangups import is_closed, take
from .hangups import terminal as terminal_now

if TYPE_CHECKING:
    from intentc.engine.engine import Engine
    from intentc.evaluation import Compiler
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.service.reload import Reloader

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_LOG = logging.getLogger("intentc")
_CONFIGURATION_LOG = logging.getLogger("intentc.loading.configuration")
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NEW_OBJECTS = 20_000
_OLDER_GENERATIONS = (20, 50)
"""The collector's defaults suit small programs: over a hundred thousand resources it runs often and finds nothing,
since hardly anything here is a cycle. That was a fifth of a compile's CPU (docs/benchmarks.md)."""


def run_service(main: Callable[[*Arguments], Awaitable[Result]], *arguments: *Arguments) -> Result:
    """Run ``main`` to its end, like ``anyio.run``. An evaluation over its budget is cut off; if it holds the
    interpreter and can't be cut off, the process ends."""
    from intentc.evaluation import PROCESS, Watchdog

    gc.set_threshold(_NEW_OBJECTS, *_OLDER_GENERATIONS)
    with PROCESS.enforced(watchdog=Watchdog()):
        return anyio.run(main, *arguments)


@asynccontextmanager
async def ended_by_signals(reload: Callable[[], None] | None = None) -> AsyncIterator[anyio.CancelScope]:
    """A scope around the block that the first SIGTERM or SIGINT cancels, and the service drains.

    ``reload``: called in the loop at each SIGHUP, and for an earlier one (``hangups.heed``); None keeps the current
    handler. If the terminal was closed, SIGHUP ends the service, too. Further signals change nothing while it drains,
    so that a second one leaves no server and no data directory behind; SIGKILL ends a service without a drain.

    The handlers are Python's own, not the event loop's: the loop's read signals from a buffer that the ticks of an
    evaluation over its budget fill up, and a SIGTERM would be lost then (docs/adr/0006).
    """
    import asyncio

    scope = anyio.CancelScope()
    loop = asyncio.get_running_loop()
    terminal = terminal_now()

    def act(received: signal.Signals) -> None:
        if received is not signal.SIGHUP or reload is None or is_closed(terminal):
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


def reloading_of(
    engine: Engine,
    compilers: Iterable[Compiler],
    loaded: Loaded,
    *,
    check: Callable[[Configuration], object],
    adapted: Callable[[Configuration], Configuration] = lambda configuration: configuration,
    relog: bool = False,
) -> Reloader:
    """A ``Reloader`` for the file of ``loaded``, read again with the same environment. ``check``: raises
    ``InvalidInput`` for a configuration with which the command can't start. ``adapted``: how the command changes one.
    ``relog``: set up logs again from the configuration."""
    from intentc.loading.configuration import load
    from intentc.service.reload import Reloader

    def read() -> Loaded:
        again = load(loaded.file, os.environ)
        again = again._replace(configuration=adapted(again.configuration))
        check(again.configuration)
        return again

    def on_read(again: Loaded) -> None:
        if relog:
            _log_as(again, loaded)

    return Reloader(engine, compilers, loaded, read, on_read)


def _log_as(again: Loaded, before: Loaded) -> None:
    from intentc.diagnostics import logs

    # Secrets from the start stay in use until the end; secrets of the new configuration must not show either.
    logs.set_up(
        again.configuration.log_level,
        again.configuration.intentc.log.format,
        lambda: before.secrets() | again.secrets(),
    )
    for note in again.notes:
        if note.warning:
            _CONFIGURATION_LOG.warning("%s", note.text)
