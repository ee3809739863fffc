"""``intentc apply``: creates or updates the resources in files, or carries out a saved plan.

With ``--wait`` it asks the diagnostics whether these are compiled. A saved plan, which may also delete, is made again
first, which reads etcd. It writes only what the input names, and what refers to that if the plan says so; it prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from ..applying import apply_resources
from ..errors import CommandError, Exit
from ..options import complete_files, configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input


_SHOWN_DEVIATIONS = 5


@click.command(name="apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@output_option
@click.option("--wait", is_flag=True, help="Wait until the compiler has converged on the applied resources.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Maximum seconds to wait.")
@configured()
def command(files: tuple[str, ...], output: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Create or update the resources in FILE... (YAML or JSON; a folder; - for stdin), or carry out a plan that
    `intentc plan --out FILE` saved.

    Kind and fq_name identify a resource. The changes go in one transaction if the server accepts it. --wait queries the
    compiler at intentc.diagnostics.address and prints its problems with the applied resources; exit code 5 if something
    that follows from them is held or rejected. A saved plan is made again first: if the result differs, it is rejected
    with exit code 1 and nothing is written; else it goes in one transaction or not at all.
    """
    from ..process import run_service

    patience, plan = timeout if wait else None, _saved_plan(files)
    if plan is not None:
        # It compiles, so it runs like the service.
        return run_service(_apply_plan, plan, output, patience, loaded)
    return anyio.run(_apply, files, output, patience, loaded)


async def _apply(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from ..transfer import print_results, read_input

    configuration = loaded.configuration
    resources, schema = read_input(files, configuration)
    applied = await apply_resources(resources, schema, configuration)
    print_results(output, resources, applied.actions, applied.revision)
    return await _compiled(resources, applied.revision, timeout, configuration)


def _saved_plan(files: tuple[str, ...]) -> Path | None:
    """The file, if ``files`` is one saved plan. Raises ``CommandError`` for a plan among other files."""
    from intentc.offline.preview.report import is_saved

    plans = [path for file in files if file != "-" and is_saved(path := Path(file))]
    if plans and len(files) > 1:
        raise CommandError(
            "a plan is applied by itself", where=str(plans[0]), next_step="omit the other files", code=Exit.USAGE
        )
    return plans[0] if plans else None


async def _apply_plan(file: Path, output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.offline.preview.report import deviations, read
    from intentc.plugins import declared
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..planning import Impossible, carry_out, make_plan, resources_of
    from ..transfer import Stale, print_actions

    configuration = loaded.configuration
    saved = read(file)
    try:
        made = await make_plan(saved.input, configuration, saved.salt)
    except Impossible as error:
        # The input was valid when the plan was made; perhaps the plan was applied already.
        raise Stale(f"it can't be carried out any more: {error.what}", where=str(file)) from None
    found = deviations(saved, made.saved)
    if found:
        further = f"; and {len(found) - _SHOWN_DEVIATIONS} more" if len(found) > _SHOWN_DEVIATIONS else ""
        raise Stale("; ".join(found[:_SHOWN_DEVIATIONS]) + further, where=str(file))
    schema = declared(configuration).schema
    resources = [] if saved.input.kind else resources_of(saved.input, schema)
    async with ApiClient(Connection(api_server(configuration))) as client:
        done = await carry_out(client, saved.input, resources, schema, made.seen)
        revision = client.revision
    print_actions(output, done, revision)
    return await _compiled(resources, revision, timeout, configuration)


async def _compiled(
    resources: Sequence[Input], revision: int, timeout: float | None, configuration: Configuration
) -> int:
    """Wait until the running compiler has converged on ``revision``, unless ``timeout`` is None; and print its problems
    with ``resources``."""
    from intentc.model import Problem

    from ..consequences import verdict
    from ..file_lines import is_about, line_of, located
    from ..ordering import name_of
    from ..waiting import wait_until_converged

    if timeout is None:
        return Exit.DONE
    status = await wait_until_converged(configuration.intentc.diagnostics, revision, timeout)
    for problem in msgspec.convert(status.get("problems", []), list[Problem]):
        if any(is_about(problem, resource) for resource in resources):
            click.echo(line_of(located(problem, resources)), err=True)
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await verdict(configuration.intentc.diagnostics, status, about)
