"""Holds what the commands that run a bridge share: etcd, the end by a signal, and the diagnostics.

Why it exists: ``intentc xds``, ``kubernetes`` and ``appgw`` differ in what they deliver, and not in how their process
starts and ends. Each of them builds its own bridge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click

from .addresses import ListenAddress
from .connecting import diagnostics_access, etcd_store
from .process import ended_by_signals

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from intentc.diagnostics.questions import Process
    from intentc.loading.configuration import Configuration
    from intentc.watch.etcd import EtcdStore

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
    store = etcd_store(configuration)
    try:
        async with ended_by_signals():
            yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


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
