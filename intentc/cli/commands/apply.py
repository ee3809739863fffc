"""``intentc apply``: create or update the resources in files, and wait until they are compiled if asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import click
import msgspec

from ..errors import CommandError, Exit
from ..options import complete_files, configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Key, Schema

    from ..client import ApiClient
    from ..lookup import Meant


_SHOWN_DEVIATIONS = 5


@click.command(name="apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@output_option
@click.option("--wait", is_flag=True, help="Wait until the compiler has converged on what was applied.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(files: tuple[str, ...], output: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Create or update the resources in FILE... (YAML or JSON; a folder; - for stdin), or carry out a plan that
    `intentc plan --out FILE` saved.

    A resource is known by its kind and fq_name. What differs from what is there goes in one transaction if the server
    takes it. --wait asks the compiler at intentc.diagnostics.address, and tells what it finds wrong with what was
    applied; exit code 5 if something that follows from it is held or refused. A plan is made anew first: if it would
    come to anything else now, it is refused, with exit code 1, and nothing is written; otherwise all of it goes in one
    transaction or not at all.
    """
    from ..process import run_service

    patience, plan = timeout if wait else None, _saved_plan(files)
    if plan is not None:
        # It compiles, as the service does.
        return run_service(_apply_plan, plan, output, patience, loaded)
    return anyio.run(_apply, files, output, patience, loaded)


class Applied(NamedTuple):
    """What was done with each resource, and the revision of etcd that holds all of them."""

    actions: list[str]
    revision: int


async def _apply(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from ..transfer import print_results, read_input

    configuration = loaded.configuration
    resources, schema = read_input(files, configuration)
    applied = await apply_resources(resources, schema, configuration)
    print_results(output, resources, applied.actions, applied.revision)
    return await _compiled(resources, applied.revision, timeout, configuration)


def _saved_plan(files: tuple[str, ...]) -> Path | None:
    """The file, if what is given is a saved plan. Raises ``CommandError`` for a plan among other files."""
    from intentc.offline.preview.saved import is_saved

    plans = [path for file in files if file != "-" and is_saved(path := Path(file))]
    if plans and len(files) > 1:
        raise CommandError(
            "a plan is applied by itself", where=str(plans[0]), next_step="leave the other files out", code=Exit.USAGE
        )
    return plans[0] if plans else None


async def _apply_plan(file: Path, output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.offline.preview.saved import deviations, read
    from intentc.plugins import installed
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
        # It could be carried out when it was planned: perhaps that was done already.
        raise Stale(f"it can't be carried out any more: {error.what}", where=str(file)) from None
    found = deviations(saved, made.saved)
    if found:
        further = f"; and {len(found) - _SHOWN_DEVIATIONS} more" if len(found) > _SHOWN_DEVIATIONS else ""
        raise Stale("; ".join(found[:_SHOWN_DEVIATIONS]) + further, where=str(file))
    schema = installed(configuration).schema
    resources = [] if saved.input.kind else resources_of(saved.input, schema)
    async with ApiClient(Connection(api_server(configuration))) as client:
        done = await carry_out(client, saved.input, resources, schema, made.seen)
        revision = client.revision
    print_actions(output, done, revision)
    return await _compiled(resources, revision, timeout, configuration)


async def _compiled(
    resources: Sequence[Input], revision: int, timeout: float | None, configuration: Configuration
) -> int:
    """Wait until the compiler has converged on ``revision``, unless ``timeout`` is None; and tell what it finds wrong
    with ``resources``."""
    from intentc.model import Problem

    from ..consequences import verdict
    from ..ordering import name_of
    from ..places import is_about, line_of, located
    from ..waiting import wait_until_converged

    if timeout is None:
        return Exit.DONE
    status = await wait_until_converged(configuration.intentc.diagnostics, revision, timeout)
    for problem in msgspec.convert(status.get("problems", []), list[Problem]):
        if any(is_about(problem, resource) for resource in resources):
            click.echo(line_of(located(problem, resources)), err=True)
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await verdict(configuration.intentc.diagnostics, status, about)


async def apply_resources(resources: Sequence[Input], schema: Schema, configuration: Configuration) -> Applied:
    """Create ``resources``, or update those that differ from what is there. Raises ``InvalidInput`` and
    ``CommandError``."""
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server

    async with ApiClient(Connection(api_server(configuration))) as client:
        return await apply_by(client, resources, schema)


async def apply_by(
    client: ApiClient, resources: Sequence[Input], schema: Schema, seen: Mapping[Key, int] | None = None
) -> Applied:
    """The same at the server of ``client``. ``seen``: the revisions at which the resources must still stand, for all of
    them, in one transaction; raises ``Stale`` if one doesn't."""
    from intentc.model import Key

    from ..client import Change
    from ..differences import replacing, says_the_same
    from ..transfer import Sent, present, send

    actions: list[str] = []
    changes: list[Sent] = []
    uuids = await present(client, resources, schema)
    stored = await _stored(client, resources, uuids, schema)
    for resource, uuid, found in zip(resources, uuids, stored, strict=True):
        kind, data = resource.kind, resource.data
        there = found.data if found is not None else None
        if resource.whole and there is not None:
            data = replacing(schema.kind(kind), data, there)
        if not uuid:
            actions.append("created")
            changes.append(Sent(resource, Change("CREATE", kind, data, must_be_new=seen is not None)))
            continue
        revision = None if seen is None else seen.get(Key(kind, uuid), 0)
        if found is not None and found.data is None:
            # A value that can't be read is replaced by a whole resource only, which has its name.
            actions.append("replaced")
            changes.append(
                Sent(resource, Change("UPDATE", kind, {"fq_name": found.fq_name, **data, "uuid": uuid}, revision))
            )
        elif there is not None and says_the_same(data, there):
            actions.append("unchanged")
            if seen is not None:
                changes.append(Sent(resource, Change("UPDATE", kind, {"uuid": uuid}, revision)))
        else:
            actions.append("updated")
            changes.append(Sent(resource, Change("UPDATE", kind, {**data, "uuid": uuid}, revision)))
    await send(client, changes, together=seen is not None)
    return Applied(actions, client.revision)


async def _stored(
    client: ApiClient, resources: Sequence[Input], uuids: Sequence[str | None], schema: Schema
) -> list[Meant | None]:
    """Each resource as the server has it; None without a uuid, or if it has gone."""
    from ..lookup import read as read_resource
    from ..transfer import CALLS_AT_ONCE

    found: list[Meant | None] = [None] * len(resources)
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def read(index: int, kind: str, uuid: str) -> None:
        async with limiter:
            found[index] = await read_resource(client, schema.kind(kind), uuid)

    async with anyio.create_task_group() as group:
        for index, (resource, uuid) in enumerate(zip(resources, uuids, strict=True)):
            if uuid:
                group.start_soon(read, index, resource.kind, uuid)
    return found
