"""``intentc run``: the service, until a signal ends it.

SIGTERM and SIGINT drain: no write is begun any more, those under way may end, then the process ends with 0. SIGHUP
reads the configuration and the reaction maps again.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import click

from ..errors import CommandError, Exit
from ..options import configured
from ..process import run_service

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

_LOG = logging.getLogger("intentc.run")


@click.command(name="run")
@click.option(
    "--observe", is_flag=True, help="Do everything but write and allocate; /status shows what would be written."
)
@configured(service=True)
def command(observe: bool, loaded: Loaded) -> int:
    """Watch etcd, compile, and keep the lower-level resources true through the API server.

    Health, readiness, status and metrics are served at intentc.diagnostics.address. SIGTERM drains and ends with 0;
    SIGHUP takes changed reaction maps, settings and log level into use, or leaves all as it was if they are wrong.
    """
    if not loaded.configuration.compilation.enabled:
        raise CommandError(
            "compilation.enabled is false", where="configuration", next_step="set it to true, or run no compiler here"
        )
    return run_service(_run, observe, loaded)


async def _run(observe: bool, loaded: Loaded) -> int:
    from intentc.diagnostics.serving import running_diagnostics
    from intentc.evaluation.crash_marker import CrashMarker, state_directory
    from intentc.plugins import installed
    from intentc.service.audits import AuditProcess
    from intentc.service.service import build_service
    from intentc.writing.http import http_services

    from ..connecting import api_server, diagnostics_access, etcd_store, lease_keepers
    from ..progress import show_progress
    from ..reloaded import reloading_of
    from ..signals import ended_by_signals

    configuration = loaded.configuration
    compilers = installed(configuration)
    address = configuration.intentc.diagnostics.address
    store = etcd_store(configuration)
    spawn = AuditProcess(str(loaded.file or ""), time_limit=configuration.intentc.audit.time_limit)
    # One that observes leaves nothing behind, and nobody is held for its sake.
    crash_marker = None if observe else CrashMarker.open(state_directory(), configuration.intentc.installation)
    try:
        async with http_services(api_server(configuration), compilers.schema, pools=compilers.pools) as (write, read):
            service = build_service(
                configuration,
                compilers,
                store,
                write,
                read,
                observe=observe,
                keepers=lease_keepers(configuration),
                spawn=spawn,
                crash_marker=crash_marker,
            )
            reloading = reloading_of(service.engine, compilers.compilers, loaded, relog=True)
            async with (
                running_diagnostics(
                    service,
                    address.host,
                    address.port,
                    browsed=service.results,
                    asked=service.answers,
                    access=diagnostics_access(configuration),
                    hosts=configuration.intentc.diagnostics.hosts,
                ) as url,
                ended_by_signals(reloading.request),
                anyio.create_task_group() as group,
            ):
                group.start_soon(reloading.run)
                group.start_soon(show_progress, service.progress)
                _LOG.info("compiling %s; diagnostics at %s", ", ".join(configuration.intentc.compilers), url)
                await service.run()
                group.cancel_scope.cancel()
    finally:
        if crash_marker is not None:
            crash_marker.close()
        with anyio.CancelScope(shield=True):
            await store.close()
    return Exit.DONE
