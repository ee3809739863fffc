"""``intentc dev``: etcd, API server, compiler and diagnostics in one go, on free ports of this machine.

For a newcomer's first minute and for trying things: the same parts as in production, in one process beside an etcd of
its own whose data is thrown away. Ctrl-C ends everything that it started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import click
import msgspec

from .errors import Exit
from .options import configured
from .process import run_service

if TYPE_CHECKING:
    from intentc.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.service import CompilerService

_TRANSACTION = 1024
"""Operations that the etcd of ``dev`` takes in one transaction."""


class Running(NamedTuple):
    """What ``dev`` started, and the configuration by which commands reach it."""

    service: CompilerService
    configuration: Configuration
    etcd: str
    api_server: str
    diagnostics: str


@click.command(name="dev")
@click.option("--load", "files", metavar="FILE", multiple=True, help="Apply the resources in FILE; may be repeated.")
@click.argument("more", metavar="[FILE]...", nargs=-1)
@click.option("--compiler", "compilers", multiple=True, help="Which compilers run; by default those configured.")
@click.option("--exit-when-converged", is_flag=True, help="Show what was compiled, then end.")
@configured()
def command(
    files: tuple[str, ...],
    more: tuple[str, ...],
    compilers: tuple[str, ...],
    exit_when_converged: bool,
    loaded: Loaded,
) -> int:
    """Start etcd, API server and compiler on free loopback ports, print where they are, and compile what is loaded.

    Files that are loaded are applied in one go, and what follows from them is shown. Ctrl-C ends everything.
    """
    configuration = loaded.configuration
    if compilers:
        own = msgspec.structs.replace(configuration.intentc, compilers=compilers)
        configuration = msgspec.structs.replace(configuration, intentc=own)
    return run_service(_dev, (*files, *more), exit_when_converged, configuration)


async def _dev(files: tuple[str, ...], exit_when_converged: bool, configuration: Configuration) -> int:
    from .signals import ended_by_signals
    from .transfer import read_input

    # Before anything is started: what can't be read should say so at once.
    resources = read_input(files, configuration)[0] if files else []
    code: int = Exit.DONE
    async with ended_by_signals() as scope, running(configuration) as started:
        _introduce(started)
        if resources:
            code = await _load(resources, started)
        if exit_when_converged:
            await started.service.engine.settled()
            scope.cancel()
        else:
            click.echo("\nCtrl-C ends everything.", err=True)
        await anyio.sleep_forever()
    return code


@asynccontextmanager
async def running(configuration: Configuration) -> AsyncIterator[Running]:
    """All parts, started by condition and ended on leaving; gives how to reach them."""
    from intentc.apiserver.serving import running_api_server
    from intentc.configuration import Address, Url
    from intentc.diagnostics.serving import running_diagnostics
    from intentc.embedded import running_etcd
    from intentc.plugins import installed
    from intentc.service import build_service
    from intentc.watch.etcd import EtcdStore
    from intentc.writing.endpoint import Endpoint
    from intentc.writing.http import http_services

    compilers = installed(configuration)
    path = configuration.etcd.path
    async with running_etcd(max_txn_ops=_TRANSACTION) as etcd:
        stores = EtcdStore([etcd.endpoint]), EtcdStore([etcd.endpoint])
        try:
            async with (
                running_api_server(stores[0], compilers.schema, path=path, max_txn_ops=_TRANSACTION) as server,
                http_services(Endpoint(server.url), compilers.schema, pools=compilers.pools) as (write, read),
            ):
                service = build_service(configuration, compilers, stores[1], write, read)
                async with (
                    running_diagnostics(service, "127.0.0.1", 0) as diagnostics,
                    anyio.create_task_group() as group,
                ):
                    group.start_soon(service.run)
                    reached = _reaching(configuration, etcd.endpoint, Url(server.url), Address(diagnostics[7:]))
                    yield Running(service, reached, etcd.endpoint, server.url, diagnostics)
                    group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for store in stores:
                    await store.close()


def _reaching(configuration: Configuration, etcd: str, server: Any, diagnostics: Any) -> Configuration:
    replace = msgspec.structs.replace
    own = configuration.intentc
    return replace(
        configuration,
        etcd=replace(configuration.etcd, endpoints=(etcd,)),
        client=replace(configuration.client, endpoint=server),
        intentc=replace(own, diagnostics=replace(own.diagnostics, address=diagnostics)),
    )


def _introduce(started: Running) -> None:
    click.echo(f"etcd         {started.etcd}  (its data is thrown away at the end)", err=True)
    click.echo(f"API server   {started.api_server}", err=True)
    click.echo(f"diagnostics  {started.diagnostics}/status?pretty", err=True)
    click.echo("\nFrom another terminal:", err=True)
    click.echo(f"  export INTENTC_CLIENT__ENDPOINT={started.api_server}", err=True)
    click.echo(f"  export INTENTC_INTENTC__DIAGNOSTICS__ADDRESS={started.diagnostics[7:]}", err=True)
    click.echo("  intentc get KIND [NAME]; intentc apply --wait FILE; intentc delete FILE\n", err=True)


async def _load(resources: Sequence[Input], started: Running) -> int:
    """Apply, wait until everything that follows is written, and show it."""
    from intentc.pipeline.outputs import in_order, lower_level, shown

    from .apply import apply_resources
    from .compile import summary
    from .output import table
    from .places import line_of, located

    engine = started.service.engine
    await engine.settled()
    before = {resource.key: resource.raw for resource in lower_level(engine.parts)}
    written = engine.reconciling.written
    applied = await apply_resources(resources, engine.parts.schema, started.configuration)
    await engine.settled(applied.revision)
    click.echo(f"applied {len(resources)} resources at revision {applied.revision}; "
               f"{engine.reconciling.written - written} writes followed:\n", err=True)  # fmt: skip
    found = [shown(r) for r in in_order(lower_level(engine.parts)) if before.get(r.key) != r.raw]
    rows = [(r["kind"], ":".join(r["fq_name"]), summary(r)) for r in found]
    click.echo(table(("kind", "name", "contents"), rows))
    for problem in engine.parts.standing.problems(engine.parts.logic.held.values()):
        click.echo(f"problem: {line_of(located(problem, resources))}", err=True)
    return Exit.HELD if engine.parts.standing.held else Exit.DONE
