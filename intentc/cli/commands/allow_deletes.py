"""``intentc allow-deletes``: leave for a deletion of many objects that the compiler withholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import click

from ..directives import directives_client, signature, waiting_options
from ..errors import CommandError, Exit
from ..options import configured

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded


@click.command(name="allow-deletes")
@click.argument("kind")
@click.option("--reason", default="", help="Why; shown in the log.")
@waiting_options
@configured()
def command(kind: str, reason: str, wait: bool, timeout: float, loaded: Loaded) -> int:
    """Let the compiler delete the objects of KIND that it withholds (/status: withheld_deletes).

    A pass that would delete many objects at once waits for this. The leave is given once, for what is withheld now; if
    no compiler runs, for what the next one withholds at its first look.
    """
    return anyio.run(_allow, kind, reason, timeout if wait else None, loaded)


async def _allow(kind_name: str, reason: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.directives import AllowDeletes

    from ..waiting import url_of

    async with directives_client(loaded.configuration) as desk:
        kind = desk.kind(kind_name).name
        status = await desk.status()
        if status is not None and not may_withhold(status, kind):
            raise CommandError(
                f"no deletes of {kind} are withheld",
                where=url_of(desk.diagnostics, "/status"),
                next_step="withheld_deletes there names what is",
            )
        revision = await desk.book.put(AllowDeletes(kind=kind, **signature(reason)))
        await desk.obeyed(revision, timeout)
    click.echo(f"allowed the withheld deletes of {kind}")
    return Exit.DONE


def may_withhold(status: dict[str, Any], kind: str) -> bool:
    """Whether the compiler withholds deletes of a kind, as far as its status tells: before the first pass it does not
    know yet, and of many it lists only the first."""
    listed = status.get("withheld_deletes", [])
    whole = status.get("counts", {}).get("withheld_deletes", 0) <= len(listed)
    known = bool(status.get("first_pass_complete")) and whole
    return not known or any(str(name).startswith(f"{kind} ") for name in listed)
