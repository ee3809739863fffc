"""Runs a command as the service runs: with its garbage collector and watchdog, ended by signals, reloaded on SIGHUP.

Why apart: these belong to the process, not to the engine. Commands that compile run so, too. ``intentc.service.reload``
puts a configuration that was read again into force. ``intentc xds``, ``kubernetes`` and ``appgw`` differ in what they
deliver, and not in how their process starts, ends and serves diagnostics.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import anyio
import click

from intentc.loading.configuration import Configuration, Loaded, load

from .connecting import diagnostics_access, open_store
from .process_edges import current_terminal, is_closed, take

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from intentc.diagnostics.questions import Process
    from intentc.engine.engine import Engine
    from intentc.evaluation import Compiler
    from intentc.service.reload import Reloader
    from intentc.watch.etcd import EtcdStore

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
    terminal = current_terminal()

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


_LONGEST_PORT = len("65535")


class ListenAddress(click.ParamType[tuple[str, int]]):
    """``host:port``; an IPv6 address stands in brackets."""

    name = "host:port"

    def convert(
        self, value: str | tuple[str, int], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or len(port) > _LONGEST_PORT or int(port) > 65535:
            self.fail(f"{value!r} is not of the form host:port", param, ctx)
        return host.strip("[]"), int(port)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def diagnostics_option(default: str) -> Callable[[_Function], _Function]:
    """``--diagnostics``, the address (``host:port``) of a bridge's health, status and metrics."""
    return click.option(
        "--diagnostics",
        type=ListenAddress(),
        default=default,
        show_default=True,
        help="The address of health, status and metrics; port 0: any.",
    )


@asynccontextmanager
async def etcd_until_signal(configuration: Configuration) -> AsyncIterator[EtcdStore]:
    """The configured etcd, for a block that the first SIGTERM or SIGINT cancels; then it is closed.

    Raises ``InvalidInput``, as ``etcd_store`` does.
    """
    async with open_store(configuration) as store, ended_by_signals():
        yield store


def bridge_diagnostics(
    bridge: Process, registry: CollectorRegistry, address: tuple[str, int], configuration: Configuration
) -> AbstractAsyncContextManager[str]:
    """Serve a bridge's diagnostics while the context is open, and give their URL. Raises as ``running_diagnostics``."""
    from intentc.diagnostics.serving import running_diagnostics

    return running_diagnostics(
        bridge,
        *address,
        registry=registry,
        access=diagnostics_access(configuration),
        hosts=configuration.intentc.diagnostics.hosts,
    )
