"""``intentc allow-deletes``: approves a mass deletion that the compiler, or the Kubernetes bridge, withholds."""

from __future__ import annotations

from typing import Any

import click

from intentc.directives import AllowDeletes, Book
from intentc.loading.configuration import Loaded

from ..command_error import CommandError, Exit
from ..command_options import configured
from ..connecting import open_store
from ..diagnostics_client import url_of
from ..directive_client import directives_client, signature, waits_for_directive


@click.command(name="allow-deletes")
@click.argument("kind")
@click.option("--reason", default="", help="The reason; shown in the log.")
@click.option("--mirrored", is_flag=True, help="Approve what `intentc kubernetes` withholds.")
@waits_for_directive
@configured()
async def command(kind: str, reason: str, mirrored: bool, timeout: float | None, loaded: Loaded) -> int:
    """Approve the withheld deletes of KIND (/status: withheld_deletes).

    The compiler withholds mass deletions until they are approved. The approval is for the deletes that are withheld
    now; if no compiler runs, for those that the next one withholds in its first pass.
    """
    async with directives_client(loaded.configuration) as client:
        kind = client.kind(kind).name
        if mirrored:
            await _allow_mirrored(kind, reason, loaded)
            return Exit.DONE
        status = await client.status()
        if status is not None and not may_withhold(status, kind):
            raise CommandError(
                f"no deletes of {kind} are withheld",
                where=url_of(client.diagnostics, "/status"),
                next_step="withheld_deletes there lists the kinds that are",
            )
        revision = await client.book.put(AllowDeletes(kind=kind, **signature(reason)))
        await client.obeyed(revision, timeout)
    click.echo(f"approved the withheld deletes of {kind}")
    return Exit.DONE


async def _allow_mirrored(kind: str, reason: str, loaded: Loaded) -> None:
    """The bridge looks for approvals each second, and deletes the directive once it has obeyed."""
    from intentc.bridges.kubernetes.serving import leader_of

    async with open_store(loaded.configuration) as store:
        book = Book(store, leader_of(loaded.configuration.intentc.installation))
        await book.put(AllowDeletes(kind=kind, **signature(reason)))
    click.echo(f"approved the withheld deletes of mirrored {kind}")


def may_withhold(status: dict[str, Any], kind: str) -> bool:
    """Whether the running compiler may withhold deletes of a kind, from its status: it does not know before the first
    pass, and lists only the first of many."""
    listed = status.get("withheld_deletes", [])
    whole = status.get("counts", {}).get("withheld_deletes", 0) <= len(listed)
    known = bool(status.get("first_pass_complete")) and whole
    return not known or any(str(name).startswith(f"{kind} ") for name in listed)
