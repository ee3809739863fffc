"""``intentc pause``: hold an intent, or leave an object alone."""

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
@click.option("--reason", default="", help="Why; shown wherever the pause is.")
@waiting_options
@configured()
def command(kind: str, name: str, reason: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Hold the resource of KIND with NAME until `intentc resume`, over restarts.

    An intent is not compiled any more, and what it made stays as it is, neither changed nor deleted. A lower-level
    object is left alone, whatever becomes of it. NAME as for get; it must exist, since a pause is for the life of one
    uuid: what is created later under the same name is not paused.
    """
    return anyio.run(_pause, kind, name, reason, timeout if wait else None, loaded)


async def _pause(kind: str, name: str, reason: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.directives import Pause

    async with directives_client(loaded.configuration) as desk:
        target = await desk.find(desk.kind(kind), name)
        revision = await desk.book.put(
            Pause(kind=target.key.kind, uuid=target.key.uuid, name=target.name, **signature(reason))
        )
        await desk.obeyed(revision, timeout)
    click.echo(f"paused {target.key.kind} {shown(target.key.uuid, target.name)}")
    return Exit.DONE
