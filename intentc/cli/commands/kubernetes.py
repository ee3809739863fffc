"""``intentc kubernetes``: mirrors a cluster's resources into etcd, and carries out what compilers make in the cluster.

It finds the access to the cluster, and runs ``bridges.kubernetes`` and its diagnostics until a signal ends it.
"""

from __future__ import annotations

import logging
from contextlib import aclosing
from pathlib import Path

import anyio
import click

from intentc.loading.configuration import Configuration, Loaded
from intentc.loading.kubeconfig import ClusterAccess, read_kubeconfig, service_account
from intentc.model import InvalidInput

from ..command_error import CommandError, Exit
from ..command_options import configured
from ..connecting import api_server, lease_keepers
from ..server_process import bridge_diagnostics, diagnostics_option, etcd_until_signal

_LOG = logging.getLogger("intentc.bridges.kubernetes")


@click.command(name="kubernetes")
@diagnostics_option("127.0.0.1:8879")
@configured(service=True, compiles=True)
async def command(diagnostics: tuple[str, int], loaded: Loaded) -> int:
    """Mirror the resources that the compilers in use read from a Kubernetes cluster into etcd, through the API server,
    and carry out the objects that they make there.

    The cluster is that of intentc.kubernetes.kubeconfig, or that of the pod. Several may run: one writes, the others
    stand by. SIGTERM ends it with exit code 0.
    """
    from intentc.bridges.kubernetes.cluster import Cluster
    from intentc.bridges.kubernetes.mirror import DeleteLimits
    from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
    from intentc.bridges.kubernetes.serving import Bridge, Settings
    from intentc.bridges.process import running
    from intentc.plugins import declared
    from intentc.service.service import process_name
    from intentc.writing.http import mirror_service

    configuration = loaded.configuration
    own = configuration.intentc
    compilers = declared(configuration)
    kinds = mirrored_kinds(compilers.schema, own.kubernetes.kinds)
    if not kinds:
        raise CommandError(
            f"the compilers in use ({', '.join(own.compilers)}) read no kind of Kubernetes",
            where="intentc.compilers",
            next_step="name a compiler that does, such as ambassador",
        )
    settings = Settings(
        configuration.etcd.path,
        own.installation,
        process_name(),
        finalizers=compilers.finalizers,
        makes=compilers.makes,
        writes=own.kubernetes.writes,
        limits=DeleteLimits(own.limits.max_deletes, own.limits.max_deletes_percent),
        ttl=configuration.compilation.lease_seconds,
        heartbeat_seconds=own.watch.heartbeat,
    )
    keepers = lease_keepers(configuration)
    try:
        cluster = Cluster(lambda: cluster_access(configuration))
    except OSError as error:
        raise CommandError(
            str(error), where="intentc.kubernetes.kubeconfig", next_step="check the certificates that it names"
        ) from None
    async with (
        aclosing(cluster),
        etcd_until_signal(configuration) as store,
        mirror_service(api_server(configuration), compilers.finalizers) as writer,
        running(Bridge(cluster, store, writer, kinds, settings, schema=compilers.schema, keepers=keepers)) as bridge,
        bridge_diagnostics(bridge, bridge.registry, diagnostics, configuration) as url,
    ):
        click.echo(url)
        _LOG.info("mirroring %d kinds of %s; diagnostics at %s", len(kinds), cluster.server, url)
        await anyio.sleep_forever()
    return Exit.DONE


def cluster_access(configuration: Configuration) -> ClusterAccess:
    """How to reach the configured cluster. Raises ``InvalidInput``."""
    own = configuration.intentc.kubernetes
    if not own.kubeconfig:
        return service_account()
    access = read_kubeconfig(Path(own.kubeconfig), own.context)
    if access.exec is not None and not own.exec:
        raise InvalidInput(
            f"{own.kubeconfig} runs {access.exec.command[0]} for credentials; set intentc.kubernetes.exec to permit it",
            source="intentc.kubernetes.exec",
            reason="InvalidConfiguration",
        )
    return access
