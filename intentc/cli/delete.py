"""``intentc delete``: delete the resources that files name, or one kind's by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Loaded


@click.command(name="delete")
@click.argument("given", metavar="FILE...", nargs=-1, required=True)
@click.option("--kind", help="In place of files, names of this kind, as `get` takes them: --kind KIND NAME...")
@output_option
@click.option("--wait", is_flag=True, help="Wait until what was compiled from them is gone, too.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(given: tuple[str, ...], kind: str | None, output: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Delete the resources named in FILE... (as for apply), those that refer to others first; or, with --kind, those
    of this kind that are named so.

    What a file names and is not there any more is no error. Lower-level resources that were compiled go by themselves;
    --wait asks the compiler at intentc.diagnostics.address until they have. Exit code 5 if it holds some intents.
    """
    patience = timeout if wait else None
    if kind is not None:
        return anyio.run(_delete_named, kind, given, output, patience, loaded)
    return anyio.run(_delete, given, output, patience, loaded)


async def _delete_named(
    kind_name: str, names: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded
) -> int:
    from intentc.plugins import installed
    from intentc.writing.connection import Connection

    from .client import ApiClient, Change
    from .connecting import api_server
    from .get import kind_named, named
    from .transfer import print_actions

    kind = kind_named(installed(loaded.configuration).schema, kind_name)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        # All are looked up before the first is deleted: a misspelt name should not leave half of it done.
        found = {data["uuid"]: data for data in [await named(client, kind, name) for name in names]}
        await client.sync([Change("DELETE", kind.name, {"uuid": uuid}) for uuid in found])
        print_actions(output, [(kind.name, data["fq_name"], "deleted") for data in found.values()], client.revision)
        revision = client.revision
    return await _until_gone(revision, timeout, loaded)


async def _delete(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.model import InvalidInput
    from intentc.writing.connection import Connection

    from .client import ApiClient, Change
    from .connecting import api_server
    from .transfer import Sent, present, print_results, read_input, send

    resources, schema = read_input(files, loaded.configuration)
    resources.reverse()
    for resource in resources:
        if not resource.data.get("fq_name") and not resource.data.get("uuid"):
            raise InvalidInput("deleting needs the resource's fq_name or uuid", source=resource.source)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        uuids = await present(client, resources, schema)
        there = [(resource, uuid) for resource, uuid in zip(resources, uuids, strict=True) if uuid]
        await send(client, [Sent(r, Change("DELETE", r.kind, {"uuid": uuid})) for r, uuid in there])
        print_results(output, resources, ["deleted" if uuid else "absent" for uuid in uuids], client.revision)
        revision = client.revision
    return await _until_gone(revision, timeout, loaded)


async def _until_gone(revision: int, timeout: float | None, loaded: Loaded) -> int:
    from .waiting import verdict, wait_until_converged

    if timeout is None:
        return Exit.DONE
    return verdict(await wait_until_converged(loaded.configuration.intentc.diagnostics.address, revision, timeout))
