"""``intentc dev``: etcd, API server, compiler and diagnostics in one go, on free ports of this machine; and an Envoy
where its elements are compiled.

For a newcomer's first minute and for trying things: the same parts as in production, in one process beside an etcd of
its own whose data is thrown away. Ctrl-C ends everything that it started.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec

from ..errors import Exit
from ..options import compilers_option, complete_files, configured, with_compilers
from ..process import run_service
from ..registry import CONFIG_FILE_VARIABLE

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.service.reload import Reloader

    from ..dev_servers import Running

_ON_THIS_MACHINE = {
    "ambassador.bind_address": "127.0.0.1",
    "ambassador.allowed_targets": ["127.0.0.0/8", "::1/128"],
}


@click.command(name="dev")
@click.option(
    "--load",
    "files",
    metavar="FILE",
    multiple=True,
    shell_complete=complete_files,
    help="Apply the resources in FILE; may be repeated.",
)
@click.argument("more", metavar="[FILE]...", nargs=-1, shell_complete=complete_files)
@compilers_option
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
    A compiler of gateways gets an Envoy, too.

    Files that are loaded are applied in one go, and what follows from them is shown. Ctrl-C ends everything.
    """

    def adapted(configuration: Configuration) -> Configuration:
        return _on_this_machine(with_compilers(configuration, compilers))

    adapted_now = loaded._replace(configuration=adapted(loaded.configuration))
    return run_service(_dev, (*files, *more), exit_when_converged, adapted_now, adapted)


async def _dev(
    files: tuple[str, ...],
    exit_when_converged: bool,
    loaded: Loaded,
    adapted: Callable[[Configuration], Configuration],
) -> int:
    from intentc.plugins import find_compilers

    from ..dev_echo import running_echoes, wanted
    from ..dev_servers import running
    from ..reloaded import reloading_of
    from ..signals import ended_by_signals
    from ..transfer import read_input

    configuration = loaded.configuration
    # Before anything is started: what can't be read should say so at once.
    resources = read_input(files, configuration)[0] if files else []
    echoes = wanted(resource.data for resource in resources)
    code: int = Exit.DONE
    reloading: Reloader | None = None

    def reload() -> None:
        if reloading is not None:
            reloading.request()

    async with (
        ended_by_signals(reload) as scope,
        running_echoes(echoes),
        running(configuration) as started,
        anyio.create_task_group() as group,
    ):
        engine = started.service.engine
        reloading = reloading_of(engine, find_compilers(configuration.intentc.compilers), loaded, adapted=adapted)
        group.start_soon(reloading.run)
        _introduce(started)
        if resources:
            code = await _load(resources, started)
        await engine.settled()
        async with _gateway_of(started, files, exit_when_converged):
            if exit_when_converged:
                scope.cancel()
            else:
                click.echo("\nCtrl-C ends everything.", err=True)
            await anyio.sleep_forever()
    return code


@asynccontextmanager
async def _gateway_of(started: Running, files: tuple[str, ...], prove_it: bool) -> AsyncIterator[None]:
    """An Envoy beside what was started, if the compilers make elements of it."""
    from intentc.bridges.xds.kinds import calls_for_envoy
    from intentc.inspection.outputs import lower_level, shown

    from ..dev_gateway import introduce, prove, running_gateway
    from ..elements import elements_of

    engine = started.service.engine
    if not calls_for_envoy(engine.parts.schema):
        yield
        return

    from intentc.bridges.xds.example_requests import ports, requests

    elements = elements_of(shown(resource) for resource in lower_level(engine.parts))
    configuration = started.configuration
    drain = configuration.intentc.envoy.drain_time
    async with running_gateway(started.etcd, configuration.etcd.path, ports(elements), drain_seconds=drain) as gateway:
        await gateway.told(engine.reconciler.sender.last_revision)
        answered = requests(elements)
        introduce(gateway, answered, files)
        if prove_it:
            await prove(answered)
        yield


def _on_this_machine(configuration: Configuration) -> Configuration:
    """A gateway listens for this machine only, and its services may run here, which elsewhere would be a way to what is
    not for everybody; what the configuration says of either counts."""
    own = configuration.intentc
    settings = {**_ON_THIS_MACHINE, **own.settings}
    return msgspec.structs.replace(configuration, intentc=msgspec.structs.replace(own, settings=settings))


def _introduce(started: Running) -> None:
    click.echo(f"etcd         {started.etcd}  (its data is thrown away at the end)", err=True)
    click.echo(f"API server   {started.api_server}", err=True)
    click.echo(f"diagnostics  {started.diagnostics}/", err=True)
    click.echo("\nFrom another terminal:", err=True)
    click.echo(f"  export {CONFIG_FILE_VARIABLE}={shlex.quote(str(started.file))}", err=True)
    click.echo("  intentc get KIND [NAME]; intentc show [VIEW]; intentc apply --wait FILE; intentc audit\n", err=True)


async def _load(resources: Sequence[Input], started: Running) -> int:
    """Apply, wait until everything that follows is written, and show it."""
    from intentc.inspection.outputs import in_order, lower_level, shown

    from ..applying import apply_resources
    from ..output import table
    from ..places import line_of, located
    from ..progress import show_progress
    from .compile import summary

    engine = started.service.engine
    await engine.settled()
    before = {resource.key: resource.raw for resource in lower_level(engine.parts)}
    written = engine.reconciler.sender.written
    applied = await apply_resources(resources, engine.parts.schema, started.configuration)

    def left() -> dict[str, Any] | None:
        if engine.converged and engine.parts.logic.revision >= applied.revision:
            return None
        done = engine.reconciler.sender.written - written
        waiting = engine.parts.jobs.pending() + engine.parts.objects.pending() + engine.reconciler.in_flight
        return {"phase": "compiling", "done": done, "total": done + waiting}

    async with anyio.create_task_group() as group:
        group.start_soon(show_progress, left)
        await engine.settled(applied.revision)
    click.echo(f"applied {len(resources)} resources at revision {applied.revision}; "
               f"{engine.reconciler.sender.written - written} writes followed:\n", err=True)  # fmt: skip
    found = [shown(r) for r in in_order(lower_level(engine.parts)) if before.get(r.key) != r.raw]
    rows = [(r["kind"], ":".join(r["fq_name"]), summary(r)) for r in found]
    click.echo(table(("kind", "name", "contents"), rows))
    for problem in engine.parts.states.problems(engine.parts.logic.held.values()):
        click.echo(f"problem: {line_of(located(problem, resources))}", err=True)
    return Exit.HELD if engine.parts.states.held else Exit.DONE
