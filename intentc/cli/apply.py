"""``intentc apply``: create or update the resources in files, and wait until they are compiled if asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import click
import msgspec

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Configuration, Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Schema

    from .client import ApiClient


@click.command(name="apply")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
@click.option("--wait", is_flag=True, help="Wait until the compiler has converged on what was applied.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(files: tuple[str, ...], output: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Create or update the resources in FILE... (YAML or JSON; a folder; - for stdin).

    A resource is known by its kind and fq_name. What differs from what is there goes in one transaction if the server
    takes it. --wait asks the compiler at intentc.diagnostics.address, and tells what it finds wrong with what was
    applied; exit code 5 if it holds some intents.
    """
    return anyio.run(_apply, files, output, timeout if wait else None, loaded)


class Applied(NamedTuple):
    """What was done with each resource, and the revision of etcd that holds all of them."""

    actions: list[str]
    revision: int


async def _apply(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.model import Problem

    from .places import is_about, line_of, located
    from .transfer import print_results, read_input
    from .waiting import verdict, wait_until_converged

    configuration = loaded.configuration
    resources, schema = read_input(files, configuration)
    applied = await apply_resources(resources, schema, configuration)
    print_results(output, resources, applied.actions, applied.revision)
    if timeout is None:
        return Exit.DONE
    status = await wait_until_converged(configuration.intentc.diagnostics.address, applied.revision, timeout)
    for problem in msgspec.convert(status.get("problems", []), list[Problem]):
        if any(is_about(problem, resource) for resource in resources):
            click.echo(line_of(located(problem, resources)), err=True)
    return verdict(status)


async def apply_resources(resources: Sequence[Input], schema: Schema, configuration: Configuration) -> Applied:
    """Create ``resources``, or update those that differ from what is there. Raises ``InvalidInput`` and
    ``CommandError``."""
    from intentc.writing.connection import Connection

    from .client import ApiClient, Change
    from .connecting import api_server
    from .differences import replacing, says_the_same
    from .transfer import Sent, present, send

    actions: list[str] = []
    changes: list[Sent] = []
    async with ApiClient(Connection(api_server(configuration))) as client:
        uuids = await present(client, resources, schema)
        stored = await _stored(client, resources, uuids, schema)
        for resource, uuid, there in zip(resources, uuids, stored, strict=True):
            kind, data = resource.kind, resource.data
            if resource.whole and there is not None:
                data = replacing(schema.kind(kind), data, there)
            if not uuid:
                actions.append("created")
                changes.append(Sent(resource, Change("CREATE", kind, data)))
            elif there is not None and says_the_same(data, there):
                actions.append("unchanged")
            else:
                actions.append("updated")
                changes.append(Sent(resource, Change("UPDATE", kind, {**data, "uuid": uuid})))
        await send(client, changes)
        return Applied(actions, client.revision)


async def _stored(
    client: ApiClient, resources: Sequence[Input], uuids: Sequence[str | None], schema: Schema
) -> list[dict[str, Any] | None]:
    """Each resource as the server has it; None without a uuid, or if it has gone."""
    from .transfer import CALLS_AT_ONCE

    found: list[dict[str, Any] | None] = [None] * len(resources)
    limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def read(index: int, kind: str, uuid: str) -> None:
        async with limiter:
            found[index] = await client.get(schema.kind(kind), uuid)

    async with anyio.create_task_group() as group:
        for index, (resource, uuid) in enumerate(zip(resources, uuids, strict=True)):
            if uuid:
                group.start_soon(read, index, resource.kind, uuid)
    return found
