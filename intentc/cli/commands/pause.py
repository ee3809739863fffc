"""``intentc pause``: holds an intent, or stops writes to an object.

It reads names from the API server, revisions from etcd and status from the diagnostics, puts a directive into etcd, and
prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from ..directives import directives_client, shown, signature, waiting_options
from ..errors import Exit
from ..options import configured

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded


@click.command(name="pause")
@click.argument("kind")
@click.argument("name")
@click.option("--reason", default="", help="The reason; shown with the pause.")
@waiting_options
@configured()
def command(kind: str, name: str, reason: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Hold the resource of KIND with NAME until `intentc resume`, also across restarts.

    A paused intent is not compiled, and its outputs are neither changed nor deleted. A paused lower-level object is not
    written. NAME as for get. The resource must exist, since a pause applies to one uuid: a resource that is created
    later under the same name is not paused.
    """
    return anyio.run(_pause, kind, name, reason, timeout if wait else None, loaded)


async def _pause(kind: str, name: str, reason: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.directives import Pause

    async with directives_client(loaded.configuration) as client:
        target = await client.find(client.kind(kind), name)
        revision = await client.book.put(
            Pause(kind=target.key.kind, uuid=target.key.uuid, name=target.name, **signature(reason))
        )
        await client.obeyed(revision, timeout)
    click.echo(f"paused {target.key.kind} {shown(target.key.uuid, target.name)}")
    return Exit.DONE
