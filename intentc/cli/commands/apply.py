"""``intentc apply``: creates or updates the resources in files, or carries out a saved plan.

With ``--wait`` it asks the diagnostics whether these are compiled. A saved plan, which may also delete, is made again
first, which reads etcd. It writes only what the input names, and what refers to that if the plan says so; it prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import click
import msgspec

from intentc.loading.configuration import Configuration, Loaded
from intentc.loading.resource_files import Loaded as Input
from intentc.model import Problem

from ..command_error import CommandError, Exit
from ..command_options import complete_files, configured, output_option, waiting_options
from ..diagnostics_client import wait_until_converged
from ..directive_client import verdict
from ..input_files import fq_name_of, is_about, line_of, located, name_of, read_input
from ..server_process import run_service
from ..transfer import Stale, apply_resources, print_actions

_SHOWN_DEVIATIONS = 5


@click.command(name="apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@output_option
@waiting_options("Wait until the compiler has converged on the applied resources.", 60.0)
@configured()
def command(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    """Create or update the resources in FILE... (YAML or JSON; a folder; - for stdin), or carry out a plan that
    `intentc plan --out FILE` saved.

    Kind and fq_name identify a resource. The changes go in one transaction if the server accepts it. --wait queries the
    compiler at intentc.diagnostics.address and prints its problems with the applied resources; exit code 5 if something
    that follows from them is held or rejected. A saved plan is made again first: if the result differs, it is rejected
    with exit code 1 and nothing is written; else it goes in one transaction or not at all.
    """
    plan = _saved_plan(files)
    if plan is not None:
        # It compiles, so it runs like the service.
        return run_service(_apply_plan, plan, output, timeout, loaded)
    return anyio.run(_apply, files, output, timeout, loaded)


async def _apply(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    configuration = loaded.configuration
    resources, schema = read_input(files, configuration)
    applied = await apply_resources(resources, schema, configuration)
    done = [(one.kind, fq_name_of(one), action) for one, action in zip(resources, applied.actions, strict=True)]
    print_actions(output, done, applied.revision)
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

    from ..api_client import api_client
    from ..live_plan import Impossible, carry_out, make_plan, resources_of

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
    async with api_client(configuration) as client:
        done = await carry_out(client, saved.input, resources, schema, made.seen)
        revision = client.revision
    print_actions(output, done, revision)
    return await _compiled(resources, revision, timeout, configuration)


async def _compiled(
    resources: Sequence[Input], revision: int, timeout: float | None, configuration: Configuration
) -> int:
    """Wait until the running compiler has converged on ``revision``, unless ``timeout`` is None; and print its problems
    with ``resources``."""
    if timeout is None:
        return Exit.DONE
    status = await wait_until_converged(configuration.intentc.diagnostics, revision, timeout)
    for problem in msgspec.convert(status.get("problems", []), list[Problem]):
        if any(is_about(problem, resource) for resource in resources):
            click.echo(line_of(located(problem, resources)), err=True)
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await verdict(configuration.intentc.diagnostics, status, about)
