"""Starts a stand-in for Azure and the publisher for ``intentc dev``, where the compilers make an Application Gateway.

Why it exists: a user who loads Ingresses wants to see what the gateway would be sent, without Azure. The stand-in
(``resource_manager``) rejects what Azure is known to reject, and serves no traffic.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec

from intentc.bridges.process import running
from intentc.cli.azure_output import difference
from intentc.cli.command_error import CommandError, Exit, needing_azure
from intentc.cli.commands.appgw import settings_of
from intentc.cli.connecting import api_server, open_store
from intentc.plugins import declared
from intentc.writing.http import mirror_service

from .resource_manager import ResourceManager, serving_resource_manager
from .servers import Running

if TYPE_CHECKING:
    from intentc.bridges.azure.serving import Bridge


_SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
_APPLIED_WITHIN_SECONDS = 60.0
_POLL_SECONDS = 0.02
_COLLECTIONS = ("httpListeners", "requestRoutingRules", "urlPathMaps", "backendAddressPools", "sslCertificates")
"""What is shown of a document, in this order."""
STAND_IN = {"appgw.subscriptionId": _SUBSCRIPTION, "appgw.resourceGroup": "dev", "appgw.name": "gateway"}
"""Settings for a gateway of the stand-in; the configuration's own win."""


class AzureGateway:
    """A gateway of the stand-in, and its publisher."""

    def __init__(self, manager: ResourceManager, bridge: Bridge, url: str) -> None:
        self.url = url
        self._manager = manager
        self._bridge = bridge

    async def recorded(self) -> None:
        """Wait until the running compiler can know the gateway."""
        from intentc.bridges.azure.document import RECORD

        while not self._bridge.stored.of_kind(RECORD):  # noqa: ASYNC110  # as below
            await anyio.sleep(_POLL_SECONDS)

    async def applied(self, revision: int) -> None:
        """Wait until the gateway has what was compiled up to ``revision``, or the publisher says why not. Raises
        ``CommandError`` after 60 s."""
        with anyio.move_on_after(_APPLIED_WITHIN_SECONDS):
            # A pass of the publisher sets no event here.
            while not (self._bridge.is_quiet and self._bridge.stored.revision >= revision):  # noqa: ASYNC110
                await anyio.sleep(_POLL_SECONDS)
            return
        status = self._bridge.status()
        raise CommandError(
            f"the gateway does not have what was compiled within {_APPLIED_WITHIN_SECONDS:g} s: "
            f"{status['state']} {status['message']}",
            code=Exit.UNREACHABLE,
        )

    def show(self) -> None:
        """Print what the gateway has, and what its publisher reports."""
        for line in described(self._manager.get()):
            click.echo(line)
        status = self._bridge.status()
        for problem in status["problems"]:
            click.echo(f"problem: {problem['ingress']}: {problem['reason']}: {problem['message']}", err=True)
        for line in status["attention"]:
            click.echo(f"attention: {line}", err=True)


def described(document: dict[str, Any]) -> list[str]:
    """The parts of a gateway's document, a line each."""
    properties = document["properties"]
    lines = []
    for collection in _COLLECTIONS:
        for item in properties.get(collection) or ():
            lines.append(f"{collection}/{item['name']}  {_summary(collection, item['properties'])}".rstrip())
    return lines


def _summary(collection: str, given: dict[str, Any]) -> str:
    def named(name: str) -> str:
        return str((given.get(name) or {}).get("id", "")).rpartition("/")[2]

    match collection:
        case "httpListeners":
            names = ", ".join(given.get("hostNames") or ["any name"])
            return f"{given.get('protocol')} {named('frontendPort')}: {names}"
        case "requestRoutingRules":
            to = named("urlPathMap") or named("redirectConfiguration") or named("backendAddressPool")
            return f"{given.get('priority')}: {named('httpListener')} → {to}"
        case "urlPathMaps":
            return " ".join(path for rule in given.get("pathRules") or () for path in rule["properties"]["paths"])
        case "backendAddressPools":
            return ", ".join(one.get("ipAddress") or one.get("fqdn", "") for one in given["backendAddresses"])
    return ""


@asynccontextmanager
async def running_azure(started: Running) -> AsyncIterator[AzureGateway]:
    """Run the stand-in and the publisher over the servers of ``dev``."""
    with needing_azure():
        from intentc.bridges.azure.client import ResourceManagerClient
        from intentc.bridges.azure.credentials import StandInCredential
        from intentc.bridges.azure.document import empty_gateway
        from intentc.bridges.azure.serving import Bridge

    configuration = started.configuration
    settings = replace(settings_of(configuration, declared(configuration)), collect_seconds=0.2)
    document = msgspec.json.decode(msgspec.json.encode(empty_gateway(configuration.intentc.settings)))
    manager = ResourceManager(document, anyio.current_time, put_seconds=1.0)
    for item in document["properties"]["frontendIPConfigurations"]:
        manager.addresses[item["properties"]["publicIPAddress"]["id"].lower()] = {"ipAddress": "192.0.2.1"}
    manager.on_put = lambda former, sent: click.echo(_difference(former, sent), err=True)
    async with (
        open_store(configuration) as store,
        serving_resource_manager(manager) as url,
        ResourceManagerClient(url, StandInCredential(), poll_seconds=0.2) as client,
        mirror_service(api_server(configuration)) as writer,
        running(Bridge(client, store, writer, settings)) as bridge,
    ):
        yield AzureGateway(manager, bridge, url + settings.gateway.gateway)


def _difference(former: dict[str, Any], sent: dict[str, Any]) -> str:
    """What a document that was sent changes, and which certificates it has."""
    certificates = sent["properties"].get("sslCertificates") or ()
    data = [f"data of sslCertificates/{one['name']}" for one in certificates if "data" in (one["properties"] or {})]
    return "\n".join(["sent to Azure:", *(f"  {line}" for line in [*difference(former, sent), *data])])
