"""``intentc resume``: ends a pause.

It reads names from the API server, status from the diagnostics and directives from etcd, puts or deletes a directive
there, and prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from ..directives import directives_client, picked, shown, waiting_options
from ..errors import CommandError, Exit
from ..options import configured

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded


@click.command(name="resume")
@click.argument("kind")
@click.argument("name")
@waiting_options
@configured()
def command(kind: str, name: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """End the pause of the resource of KIND with NAME: it is compiled, or written, again.

    NAME is the resource's name at the time of the pause, or its uuid; the resource may be deleted already.
    """
    return anyio.run(_resume, kind, name, timeout if wait else None, loaded)


async def _resume(kind_name: str, name: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.directives import Pause

    async with directives_client(loaded.configuration) as client:
        kind = client.kind(kind_name)
        pauses = [
            (kept.directive.uuid, kept.directive.name, (kept, kept.directive))
            for kept in await client.book.list()
            if isinstance(kept.directive, Pause) and kept.directive.kind == kind.name
        ]
        found = picked(name, pauses)
        if not found:
            raise CommandError(
                f"{kind.name} {name} is not paused",
                next_step="`intentc quarantine list` shows what is paused or held",
            )
        (kept, directive), *_ = found
        revision = await client.book.withdraw(kept)
        if not revision:
            raise CommandError(
                f"the pause of {kind.name} {name} was changed by another user just now",
                next_step="run the command again",
            )
        await client.obeyed(revision, timeout)
    click.echo(f"resumed {kind.name} {shown(directive.uuid, directive.name)}")
    return Exit.DONE
