"""``intentc pause`` and ``intentc resume``: hold an intent, or stop writes to an object, and end that."""

from __future__ import annotations

import click

from intentc.directives import Pause
from intentc.loading.configuration import Loaded

from ..command_error import CommandError, Exit
from ..command_options import configured
from ..directive_client import directives_client, picked, shown, signature, waits_for_directive


@click.command(name="pause")
@click.argument("kind")
@click.argument("name")
@click.option("--reason", default="", help="The reason; shown with the pause.")
@waits_for_directive
@configured()
async def command(kind: str, name: str, reason: str, timeout: float | None, loaded: Loaded) -> int:
    """Hold the resource of KIND with NAME until `intentc resume`, also across restarts.

    A paused intent is not compiled, and its outputs are neither changed nor deleted. A paused lower-level object is not
    written. NAME as for get. The resource must exist, since a pause applies to one uuid: a resource that is created
    later under the same name is not paused.
    """
    async with directives_client(loaded.configuration) as client:
        target = await client.find(client.kind(kind), name)
        revision = await client.book.put(
            Pause(kind=target.key.kind, uuid=target.key.uuid, name=target.name, **signature(reason))
        )
        await client.obeyed(revision, timeout)
    click.echo(f"paused {target.key.kind} {shown(target.key.uuid, target.name)}")
    return Exit.DONE


@click.command(name="resume")
@click.argument("kind")
@click.argument("name")
@waits_for_directive
@configured()
async def resume_command(kind: str, name: str, timeout: float | None, loaded: Loaded) -> int:
    """End the pause of the resource of KIND with NAME: it is compiled, or written, again.

    NAME is the resource's name at the time of the pause, or its uuid; the resource may be deleted already.
    """
    async with directives_client(loaded.configuration) as client:
        kind = client.kind(kind).name
        pauses = [
            (kept.directive.uuid, kept.directive.name, (kept, kept.directive))
            for kept in await client.book.list()
            if isinstance(kept.directive, Pause) and kept.directive.kind == kind
        ]
        found = picked(name, pauses)
        if not found:
            raise CommandError(
                f"{kind} {name} is not paused",
                next_step="`intentc quarantine list` shows what is paused or held",
            )
        (kept, directive), *_ = found
        revision = await client.book.withdraw(kept)
        if not revision:
            raise CommandError(
                f"the pause of {kind} {name} was changed by another user just now", next_step="run the command again"
            )
        await client.obeyed(revision, timeout)
    click.echo(f"resumed {kind} {shown(directive.uuid, directive.name)}")
    return Exit.DONE
