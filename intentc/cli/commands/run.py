"""``intentc run``: runs the service until a signal ends it.

SIGTERM and SIGINT drain: no new write begins, those in flight may finish, then the process ends with exit code 0.
SIGHUP reloads the configuration and the reaction maps.
"""

from __future__ import annotations

import logging

import anyio
import click

from intentc.loading.configuration import Loaded

from ..command_error import Exit
from ..command_options import configured
from ..connecting import api_server, diagnostics_access, lease_keepers, open_store, startable
from ..output import show_progress
from ..server_process import ended_by_signals, reloading_of

_LOG = logging.getLogger("intentc.run")


@click.command(name="run")
@click.option(
    "--observe", is_flag=True, help="Write and allocate nothing; `intentc show planned` shows what would be written."
)
@configured(service=True, compiles=True)
async def command(observe: bool, loaded: Loaded) -> int:
    """Watch etcd, compile, and keep the lower-level resources up to date through the API server.

    Health, readiness, status and metrics are served at intentc.diagnostics.address. SIGTERM drains and ends with exit
    code 0; SIGHUP reloads reaction maps, settings and log level, or changes nothing if they are invalid.
    """
    from intentc.diagnostics.serving import running_diagnostics
    from intentc.evaluation import CrashMarker, state_directory
    from intentc.service.audits import AuditProcess
    from intentc.service.service import build_service
    from intentc.writing.http import http_services

    configuration = loaded.configuration
    compilers = startable(configuration)
    address = configuration.intentc.diagnostics.address
    spawn = AuditProcess(str(loaded.file or ""), time_limit=configuration.intentc.audit.time_limit)
    # An observer leaves no crash marker, so no intent is suspected because of it.
    crash_marker = None if observe else CrashMarker.open(state_directory(), configuration.intentc.installation)
    try:
        async with (
            open_store(configuration) as store,
            http_services(api_server(configuration), compilers.schema, pools=compilers.pools) as (write, read),
        ):
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
            reloading = reloading_of(service.engine, compilers.compilers, loaded, check=startable, relog=True)
            async with (
                running_diagnostics(
                    service,
                    address.host,
                    address.port,
                    reader=service.reader,
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
    return Exit.DONE
