"""``intentc appgw``: publishes what the compiler ``appgw`` makes to an Azure Application Gateway.

It runs ``bridges.azure`` and its diagnostics until a signal ends it; ``intentc dev`` takes the settings from here, too.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import click

from intentc.loading.configuration import Configuration, Loaded
from intentc.model import InvalidInput

from ..command_error import CommandError, Exit, needing_azure
from ..command_options import configured
from ..connecting import api_server, lease_keepers
from ..server_process import bridge_diagnostics, diagnostics_option, etcd_until_signal

if TYPE_CHECKING:
    from intentc.bridges.azure.serving import Settings
    from intentc.plugins import Declared

_LOG = logging.getLogger("intentc.bridges.azure")


@click.command(name="appgw")
@diagnostics_option("127.0.0.1:8880")
@configured(service=True, compiles=True)
async def command(diagnostics: tuple[str, int], loaded: Loaded) -> int:
    """Publish the sub-resources that the compiler appgw makes to its Application Gateway, through Azure Resource
    Manager.

    The gateway and the identity are those of intentc.settings (appgw.applicationGatewayID, appgw.armAuth.*). Several
    may run: one publishes, the others stand by. SIGTERM ends it with exit code 0.
    """
    with needing_azure():
        from intentc.bridges.azure.client import API_VERSION, ResourceManagerClient
        from intentc.bridges.azure.credentials import cloud, credential
        from intentc.bridges.azure.document import given
        from intentc.bridges.azure.serving import Bridge
    from intentc.bridges.process import running
    from intentc.plugins import declared
    from intentc.writing.http import mirror_service

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
        running(Bridge(manager, store, writer, settings, keepers=lease_keepers(configuration))) as bridge,
        bridge_diagnostics(bridge, bridge.registry, diagnostics, configuration) as url,
    ):
        click.echo(url)
        _LOG.info("publishing %s at %s; diagnostics at %s", settings.gateway.gateway, where.endpoint, url)
        await anyio.sleep_forever()
    return Exit.DONE


_SHORTEST_PERIOD, _LONGEST_PERIOD, _PERIOD = 30.0, 300.0, 60.0


def settings_of(configuration: Configuration, compilers: Declared) -> Settings:
    """The publisher's settings. Raises ``CommandError`` without a gateway, and ``InvalidInput`` for a period that is no
    number from 30 to 300."""
    from intentc.bridges.azure.document import RECORD, empty_gateway, limits_in, prefix_in, record_name
    from intentc.bridges.azure.serving import RECORDS, Gateway, Settings
    from intentc.service.service import process_name

    own = configuration.intentc
    if RECORD not in compilers.schema:
        raise CommandError(
            f"the compilers in use ({', '.join(own.compilers)}) make nothing for an Application Gateway",
            where="intentc.compilers",
            next_step="name the compiler appgw",
        )
    gateway = str(empty_gateway(own.settings)["id"])
    if "/resourceGroups/unknown/" in gateway:
        raise CommandError(
            "no gateway is named",
            where="intentc.settings",
            next_step="set appgw.applicationGatewayID, or appgw.subscriptionId, appgw.resourceGroup and appgw.name",
        )
    return Settings(
        configuration.etcd.path,
        own.installation,
        process_name(),
        gateway=Gateway(gateway, own.settings.get("appgw.allow_foreign_removal") is True, limits_in(own.settings)),
        name=record_name(own.settings),
        prefix=prefix_in(own.settings),
        plurals={kind: compilers.schema.kind(kind).plural for kind in RECORDS},
        ttl=configuration.compilation.lease_seconds,
        heartbeat_seconds=own.watch.heartbeat,
        period_seconds=_period(own.settings),
    )


def _period(settings: Mapping[str, Any]) -> float:
    name = "appgw.reconcilePeriodSeconds"
    given = [settings[one] for one in (name, "appgw.RECONCILE_PERIOD_SECONDS") if settings.get(one) not in (None, "")]
    found = given[0] if given else _PERIOD
    try:
        seconds = float(found)
    except (TypeError, ValueError):
        seconds = 0.0
    if not _SHORTEST_PERIOD <= seconds <= _LONGEST_PERIOD:
        message = f"{found!r} is no number of seconds from {_SHORTEST_PERIOD:g} to {_LONGEST_PERIOD:g}"
        raise InvalidInput(message, source=name, reason="InvalidConfiguration")
    return seconds
