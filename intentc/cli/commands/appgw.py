"""``intentc appgw``: publishes what the compiler ``appgw`` makes to an Azure Application Gateway.

It runs ``bridges.azure`` and its diagnostics until a signal ends it.

Touches: environment, logs, terminal; through others: clock, etcd, files, gRPC, HTTP, metrics, processes, randomness,
sockets, threads.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import anyio
import click

from ..addresses import ListenAddress
from ..azure_settings import needing_azure, settings_of
from ..errors import Exit
from ..options import configured
from ..process import run_service

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

_LOG = logging.getLogger("intentc.bridges.azure")


@click.command(name="appgw")
@click.option(
    "--diagnostics",
    type=ListenAddress(),
    default="127.0.0.1:8880",
    show_default=True,
    help="The address of health, status and metrics; port 0: any.",
)
@configured(service=True)
def command(diagnostics: tuple[str, int], loaded: Loaded) -> int:
    """Publish the sub-resources that the compiler appgw makes to its Application Gateway, through Azure Resource
    Manager.

    The gateway and the identity are those of intentc.settings (appgw.applicationGatewayID, appgw.armAuth.*). Several
    may run: one publishes, the others stand by. SIGTERM ends it with exit code 0.
    """
    return run_service(_run, diagnostics, loaded)


async def _run(diagnostics: tuple[str, int], loaded: Loaded) -> int:
    with needing_azure():
        from intentc.bridges.azure.client import API_VERSION, ResourceManagerClient
        from intentc.bridges.azure.credentials import cloud, credential, given
        from intentc.bridges.azure.serving import running_publisher
    from intentc.diagnostics.serving import running_diagnostics
    from intentc.plugins import declared
    from intentc.writing.mirroring import mirror_service

    from ..connecting import api_server, diagnostics_access, etcd_store, lease_keepers
    from ..process import ended_by_signals

    configuration = loaded.configuration
    own = configuration.intentc
    settings = settings_of(configuration, declared(configuration))
    where = cloud(own.settings, os.environ)
    version = given(own.settings, {}, "api_version") or API_VERSION
    store = etcd_store(configuration)
    try:
        async with (
            ended_by_signals(),
            ResourceManagerClient(
                where.endpoint, credential(own.settings, os.environ, where), api_version=version
            ) as manager,
            mirror_service(api_server(configuration)) as writer,
            running_publisher(manager, store, writer, settings, keepers=lease_keepers(configuration)) as bridge,
            running_diagnostics(
                bridge,
                *diagnostics,
                registry=bridge.registry,
                access=diagnostics_access(configuration),
                hosts=own.diagnostics.hosts,
            ) as url,
        ):
            click.echo(url)
            _LOG.info("publishing %s at %s; diagnostics at %s", settings.gateway.gateway, where.endpoint, url)
            await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()
    return Exit.DONE
