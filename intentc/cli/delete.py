"""``intentc delete``: delete the resources that files name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from .errors import Exit
from .options import configured, output_option

if TYPE_CHECKING:
    from intentc.configuration import Loaded


@click.command(name="delete")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@output_option
@configured()
def command(files: tuple[str, ...], output: str, loaded: Loaded) -> int:
    """Delete the resources named in FILE... (as for apply), those that refer to others first.

    What is not there any more is no error. Lower-level resources that were compiled go by themselves.
    """
    return anyio.run(_delete, files, output, loaded)


async def _delete(files: tuple[str, ...], output: str, loaded: Loaded) -> int:
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
    return Exit.DONE
