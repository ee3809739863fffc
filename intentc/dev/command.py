"""``intentc dev``: runs etcd, API server, compiler and diagnostics on this machine, with what the compilers need.

For a newcomer's first minute and for experiments: the same parts as in production, in one process next to an etcd of
its own, whose data is deleted at the end. The servers have free ports. Where the compilers or files ask for them, there
are an Envoy and small services, at the ports that the files name, and stand-ins for Azure (with the publisher) and for
a cluster. The other modules of ``dev`` start all of these; they end with the command.

It writes the resources of files, and prints. With ``--exit-when-converged`` it sends a request to the Envoy and prints
the answer. ``keep_running`` looks at PATH and the working directory, to print the command line for another run.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import click
import msgspec

from intentc.bridges.xds.elements import calls_for_envoy
from intentc.cli.command_error import Exit
from intentc.cli.command_options import compilers_option, complete_files, configured, with_compilers
from intentc.cli.commands.compile import status_in_short, summary
from intentc.cli.entry import CONFIG_FILE_OPTION, CONFIG_FILE_VARIABLE
from intentc.cli.envoy_output import elements_of
from intentc.cli.input_files import line_of, located, read_input
from intentc.cli.output import show_progress, table
from intentc.cli.server_process import ended_by_signals, reloading_of, run_service
from intentc.cli.transfer import apply_resources
from intentc.inspection.awaited import unmade
from intentc.inspection.shown_resources import in_order, lower_level, shown, statuses
from intentc.loading.configuration import Configuration, Loaded
from intentc.loading.resource_files import Loaded as Input
from intentc.plugins import find_compilers, installed

from .azure_gateway import STAND_IN, AzureGateway, running_azure
from .cluster_stand_in import running_cluster
from .echo_services import running_echoes, wanted
from .envoy_gateway import introduce, prove, running_gateway
from .example_requests import ports, requests
from .servers import Running, running

if TYPE_CHECKING:
    from intentc.service.reload import Reloader

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
    help="Same as FILE; may be repeated.",
)
@click.argument("more", metavar="[FILE]...", nargs=-1, shell_complete=complete_files)
@compilers_option
@click.option("--kubernetes", is_flag=True, help="Print a kubeconfig by which kubectl works on the API server.")
@click.option("--exit-when-converged", is_flag=True, help="Print the compiled resources, then end.")
@configured()
def command(
    files: tuple[str, ...],
    more: tuple[str, ...],
    compilers: tuple[str, ...],
    kubernetes: bool,
    exit_when_converged: bool,
    loaded: Loaded,
) -> int:
    """Start etcd, API server and compiler on free loopback ports, print their addresses, and compile the resources in
    the files. A compiler of gateways also gets an Envoy; for one that makes objects in a Kubernetes cluster, a stand-in
    answers as if it had a cluster, in which nothing runs.

    The files are applied in one transaction, and the compiled resources are printed. Ctrl-C ends everything.
    """

    def adapted(configuration: Configuration) -> Configuration:
        return _on_this_machine(with_compilers(configuration, compilers))

    adapted_now = loaded._replace(configuration=adapted(loaded.configuration))
    again = keep_running((*files, *more), compilers, loaded.file)
    return run_service(_dev, (*files, *more), again if exit_when_converged else "", kubernetes, adapted_now, adapted)


def keep_running(files: Sequence[str], compilers: Sequence[str], configuration: Path | None) -> str:
    """The command line that runs ``intentc dev`` with the same options until Ctrl-C. If ``intentc`` is not on the path,
    it first activates this process's virtual environment."""
    words = ["intentc", "dev", *(("--load", *files) if files else ())]
    for option, values in (("--compiler", compilers), (CONFIG_FILE_OPTION, [configuration])):
        words += [word for value in values if value is not None for word in (option, str(value))]
    line = shlex.join(words)
    if shutil.which("intentc") is None and sys.prefix != sys.base_prefix:
        activate = Path(sys.prefix) / "bin" / "activate"
        near = activate.relative_to(Path.cwd()) if activate.is_relative_to(Path.cwd()) else activate
        return f"source {shlex.quote(str(near))}; {line}"
    return line


async def _dev(
    files: tuple[str, ...],
    again: str,
    kubernetes: bool,
    loaded: Loaded,
    adapted: Callable[[Configuration], Configuration],
) -> int:
    configuration = loaded.configuration
    # Before anything starts, so that unreadable files are reported at once.
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
        compilers = find_compilers(configuration.intentc.compilers)
        reloading = reloading_of(engine, compilers, loaded, check=installed, adapted=adapted)
        group.start_soon(reloading.run)
        _introduce(started, stays=not again, kubernetes=kubernetes)
        async with _azure_of(started) as azure:
            if resources:
                code = await _load(resources, started)
            await engine.settled()
            if azure is not None:
                await azure.applied(engine.sender.last_revision)
                azure.show()
            async with (
                _gateway_of(started, files, prove_it=bool(again)),
                running_cluster(
                    started, partial(_print_statuses, started) if again else None, _status_printer(started)
                ),
            ):
                if again:
                    click.echo(f"\nTo keep it running: `{again}`", err=True)
                    scope.cancel()
                else:
                    click.echo("\nCtrl-C ends everything.", err=True)
                await anyio.sleep_forever()
    return code


@asynccontextmanager
async def _azure_of(started: Running) -> AsyncIterator[AzureGateway | None]:
    """Run a publisher and a stand-in for Azure next to the servers, if the compilers make an Application Gateway."""
    from intentc.bridges.azure.document import RECORD

    engine = started.service.engine
    world = engine.world
    if RECORD not in world.schema:
        yield None
        return
    async with running_azure(started) as azure:
        click.echo(f"Azure        {azure.url}  (a stand-in; it serves no traffic)\n", err=True)
        await azure.recorded()
        await engine.settled()
        yield azure


@asynccontextmanager
async def _gateway_of(started: Running, files: tuple[str, ...], *, prove_it: bool) -> AsyncIterator[None]:
    """Run an Envoy next to the servers, if the compilers make Envoy elements."""
    engine = started.service.engine
    world, planner = engine.world, engine.planner
    if not calls_for_envoy(world.schema):
        yield
        return

    elements = elements_of(shown(resource) for resource in lower_level(world, planner))
    configuration = started.configuration
    drain = configuration.intentc.envoy.drain_time
    async with running_gateway(started.etcd, configuration.etcd.path, ports(elements), drain_seconds=drain) as gateway:
        await gateway.accepted(engine.sender.last_revision)
        answered = requests(elements)
        introduce(gateway, answered, () if prove_it else files)
        if prove_it:
            await prove(answered)
        yield


def _on_this_machine(configuration: Configuration) -> Configuration:
    """Let a gateway listen on loopback only and route to services on loopback, which in production could expose
    internal services; the configuration's own settings win."""
    own = configuration.intentc
    settings = {**_ON_THIS_MACHINE, **own.settings}
    if "appgw" in own.compilers:
        settings = {**STAND_IN, **settings}
    return msgspec.structs.replace(configuration, intentc=msgspec.structs.replace(own, settings=settings))


def _introduce(started: Running, *, stays: bool, kubernetes: bool) -> None:
    """Print all addresses. ``stays``: it runs until Ctrl-C, so other terminals can use it, with kubectl if
    ``kubernetes``."""
    click.echo(f"etcd         {started.etcd}  (its data is deleted at the end)", err=True)
    click.echo(f"API server   {started.api_server}", err=True)
    click.echo(f"diagnostics  {started.diagnostics}/", err=True)
    if not stays:
        click.echo(err=True)
        return
    click.echo("\nFrom another terminal:", err=True)
    click.echo(f"  export {CONFIG_FILE_VARIABLE}={shlex.quote(str(started.file))}", err=True)
    click.echo("  intentc get KIND [NAME]; intentc show [VIEW]; intentc apply --wait FILE; intentc audit", err=True)
    if kubernetes:
        click.echo(f"  export KUBECONFIG={shlex.quote(str(started.kubeconfig))}", err=True)
        world = started.service.engine.world
        kinds = [kind for kind in world.schema if kind.written_as_manifests and not kind.system]
        shown = "kubectl get KIND [NAME]; kubectl apply -f FILE; kubectl edit KIND NAME"
        none = (
            "kubectl sees nothing here: no kind of these compilers is written as manifests; add --compiler ambassador"
        )
        click.echo(f"  {shown if kinds else none}", err=True)
    click.echo(err=True)


async def _load(resources: Sequence[Input], started: Running) -> int:
    """Apply ``resources``, wait until everything that follows is written, and print it."""
    engine = started.service.engine
    world, planner = engine.world, engine.planner
    await engine.settled()
    before = {resource.key: resource.raw for resource in lower_level(world, planner)}
    written = engine.sender.written
    applied = await apply_resources(resources, world.schema, started.configuration)

    def left() -> dict[str, Any] | None:
        if engine.converged and engine.revision >= applied.revision:
            return None
        done = engine.sender.written - written
        waiting = engine.jobs.pending() + engine.objects.pending() + engine.writes.loop.in_flight
        return {"phase": "compiling", "done": done, "total": done + waiting}

    async with anyio.create_task_group() as group:
        group.start_soon(show_progress, left)
        await engine.settled(applied.revision)
    click.echo(f"applied {len(resources)} resources at revision {applied.revision}; "
               f"{engine.sender.written - written} writes followed:\n", err=True)  # fmt: skip
    found = [shown(r) for r in in_order(lower_level(world, planner)) if before.get(r.key) != r.raw]
    rows = [(r["kind"], ":".join(r["fq_name"]), summary(r)) for r in found]
    click.echo(table(("kind", "name", "contents"), rows))
    for problem in engine.states.problems(world.held.values()):
        click.echo(f"problem: {line_of(located(problem, resources))}", err=True)
    return Exit.HELD if unmade(engine) else Exit.DONE


def _status_printer(started: Running) -> Callable[[], None]:
    """A function that prints the statuses that have changed since its last call."""
    printed: dict[str, str] = {}
    engine = started.service.engine

    def print_changed() -> None:
        for one in statuses(engine.world, engine.planner):
            title, text = f"{one['kind']} {':'.join(one['fq_name'])}", status_in_short(one["status"])
            if printed.get(title) != text:
                printed[title] = text
                click.echo(f"  {title}: {text}", err=True)

    return print_changed


def _print_statuses(started: Running) -> None:
    engine = started.service.engine
    found = statuses(engine.world, engine.planner)
    rows = [(one["kind"], ":".join(one["fq_name"]), status_in_short(one["status"])) for one in found]
    click.echo(table(("kind", "name", "status"), rows))
