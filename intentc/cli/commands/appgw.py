"""``intentc appgw``: publishes what the compiler ``appgw`` makes to an Azure Application Gateway.

It runs ``bridges.azure`` and its diagnostics until a signal ends it.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import anyio
import click

from ..azure_settings import needing_azure, settings_of
from ..bridge_process import bridge_diagnostics, diagnostics_option, etcd_until_signal
from ..errors import Exit
from ..options import configured
from ..process import run_service

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

_LOG = logging.getLogger("intentc.bridges.azure")


@click.command(name="appgw")
@diagnostics_option("127.0.0.1:8880")
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
    from intentc.plugins import declared
    from intentc.writing.mirroring import mirror_service

    from ..connecting import api_server, lease_keepers

    configuration = loaded.configuration
    own = configuration.intentc
    settings = settings_of(configuration, declared(configuration))
    where = cloud(own.settings, os.environ)
    version = given(own.settings, {}, "api_version") or API_VERSION
    identity = credential(own.settings, os.environ, where)
    async with (
        etcd_until_signal(configuration) as store,
        ResourceManagerClient(where.endpoint, identity, api_version=version) as manager,
        mirror_service(api_server(configuration)) as writer,
        running_publisher(manager, store, writer, settings, keepers=lease_keepers(configuration)) as bridge,
        bridge_diagnostics(bridge, bridge.registry, diagnostics, configuration) as url,
    ):
        click.echo(url)
        _LOG.info("publishing %s at %s; diagnostics at %s", settings.gateway.gateway, where.endpoint, url)
        await anyio.sleep_forever()
    return Exit.DONE
