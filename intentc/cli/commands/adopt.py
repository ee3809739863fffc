"""``intentc adopt``: puts the marks of released objects back, so that intentc owns them again.

Why it exists: it is the inverse of ``release``. Without it, a compiler that runs again finds the names of its objects
taken by objects that it treats as users'. An object is adopted only if it has the uuid that its former mark gives
(docs/engine.md §5.5): such an object was made by this installation, under this name. ``marks`` finds the released
objects, ``mark_changes`` writes them through the API server.

It reads etcd, changes the API server's resources, and prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import click

from ..errors import CommandError, Exit
from ..mark_changes import MarkChanges
from ..marks import Marked, marked_objects
from ..options import configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded
    from intentc.model import Kind

_COLUMNS = ("kind", "name", "uuid")


@click.command(name="adopt")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="The objects of all kinds.")
@click.option("--yes", is_flag=True, help="Adopt them; without it, only show which ones would be adopted.")
@output_option
@configured()
def command(kind: str | None, name: str | None, everything: bool, yes: bool, output: str, loaded: Loaded) -> int:
    """Take back released objects of KIND, the one with NAME, or --all, for intentc.installation.

    Shows what would be adopted; --yes adopts it. A compiler may run: it then goes on with its own objects, and deletes
    those that nothing needs any more, as any of its own. An object whose uuid is not the one that this installation
    gives can't be ours, and is left as it is: delete it, and the compiler makes its own.
    """
    if everything == bool(kind):
        raise click.UsageError("give either KIND, KIND and NAME, or --all")
    return anyio.run(_adopt, kind, name, yes, output, loaded)


async def _adopt(kind_name: str | None, name: str | None, yes: bool, output: str, loaded: Loaded) -> int:
    from intentc.leading import check_claim
    from intentc.model import MARK_KEY, RELEASED_KEY
    from intentc.plugins import declared
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server, etcd_store
    from ..naming import kind_named
    from ..output import print_document

    configuration = loaded.configuration
    schema = declared(configuration).schema
    kinds = [kind_named(schema, kind_name)] if kind_name else sorted(schema, key=lambda kind: kind.name)
    kinds = [kind for kind in kinds if kind.stored]
    store = etcd_store(configuration)
    others: dict[str, Marked] = {}

    async def find(kind: Kind) -> list[Marked]:
        released = await marked_objects(store, configuration, kind, name, RELEASED_KEY)
        others.update({marked.uuid: marked for marked in released if not marked.is_made_by_us})
        return [marked for marked in released if marked.is_made_by_us]

    async def check() -> None:
        """A released path may belong to another installation by now."""
        await check_claim(
            store, configuration.etcd.path, configuration.intentc.installation, configuration.intentc.compilers
        )

    try:
        if yes:
            async with ApiClient(Connection(api_server(configuration))) as client:
                found = await MarkChanges(client, find=find, key=MARK_KEY, check=check, done="adopted").make(kinds)
        else:
            await check()
            found = [marked for kind in kinds for marked in await find(kind)]
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()
    for other in others.values():
        _report(other)
    if name and not found and not others:
        raise CommandError(
            f"there is no {kinds[0].name} {name} that the installation {configuration.intentc.installation} released",
            next_step=f"delete it with `intentc delete --kind {kinds[0].name} {name}`, and the compiler makes its own",
        )
    rows = [(marked.kind, marked.name, marked.uuid) for marked in found]
    print_document(output, {"adopted": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}, _COLUMNS, rows)
    click.echo(f"{len(found)} objects adopted" if yes else _planned(len(found)), err=True)
    return Exit.DONE


def _report(other: Marked) -> None:
    click.echo(
        f"{other.kind} {other.name} has uuid {other.uuid}, which is not the one that we give, so it can't be ours; if "
        f"the compiler needs the name, `intentc delete --kind {other.kind} {other.uuid}`",
        err=True,
    )


def _planned(number: int) -> str:
    return f"{number} objects would be adopted" + ("; to do it, give --yes" if number else "")
