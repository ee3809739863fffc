"""``intentc xds``: serves the Envoy elements in etcd to Envoys.

It runs ``bridges.xds``, and the diagnostics server on a port of its own, until a signal ends them.
"""

from __future__ import annotations

import logging

import anyio
import click

from intentc.loading.configuration import Loaded, is_loopback

from ..command_error import Exit, needing_protobuf
from ..command_options import configured
from ..server_process import ListenAddress, bridge_diagnostics, diagnostics_option, etcd_until_signal

_LOG = logging.getLogger("intentc.bridges.xds")


@click.command(name="xds")
@click.option(
    "--address",
    type=ListenAddress(),
    default="127.0.0.1:8003",
    show_default=True,
    help="The address for Envoys; port 0: any.",
)
@diagnostics_option("127.0.0.1:8878")
@configured(service=True, compiles=True)
async def command(address: tuple[str, int], diagnostics: tuple[str, int], loaded: Loaded) -> int:
    """Serve the elements below etcd.path to Envoys: aggregated discovery over gRPC, state of the world or incremental.

    Prints the address on stdout once it serves requests. Elements that an Envoy rejects are recorded in etcd, and the
    Envoy keeps its last good state. Several may run over one etcd. Set intentc.envoy.drain_time if Envoys run with a
    --drain-time-s other than 600. SIGTERM ends it with exit code 0.
    """
    with needing_protobuf():
        from intentc.bridges.xds.serving import running_xds

    configuration = loaded.configuration
    host, port = address
    if not is_loopback(host):
        _LOG.warning("no TLS at %s: anyone who reaches this address can read every secret of the gateway", host)
    async with (
        etcd_until_signal(configuration) as store,
        running_xds(
            store, configuration.etcd.path, host, port, drain_seconds=configuration.intentc.envoy.drain_time
        ) as server,
        bridge_diagnostics(server, server.figures.registry, diagnostics, configuration) as url,
    ):
        click.echo(f"{f'[{host}]' if ':' in host else host}:{server.port}")
        _LOG.info("diagnostics at %s", url)
        await anyio.sleep_forever()
    return Exit.DONE
