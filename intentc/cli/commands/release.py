"""``intentc release``: removes our marks, so that intentc no longer owns the objects; deletes nothing.

Why it exists: removing intentc must be as safe as introducing it. What a later compiler does with objects without a
mark is in docs/engine.md §5.6: most it takes for a user's. The mark is kept under another annotation, so that ``adopt``
can put it back. ``marks`` finds the marked objects, ``mark_changes`` writes them through the API server.

It reads etcd, changes the API server's resources, and prints. It changes marks, and with ``--all`` the claim on the
path in etcd; it deletes no object.
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
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.model import Kind
    from intentc.watch.protocol import Store

_STOP_IT = "stop it, and wait until that key is deleted (half a minute after a crash); or give --force"
_COLUMNS = ("kind", "name", "uuid")


@click.command(name="release")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="The objects of all kinds.")
@click.option("--dry-run", is_flag=True, help="Show what would be released; write nothing.")
@click.option("--force", is_flag=True, help="Also while a compiler of this installation runs.")
@output_option
@configured()
def command(
    kind: str | None, name: str | None, everything: bool, dry_run: bool, force: bool, output: str, loaded: Loaded
) -> int:
    """Remove the mark of intentc.installation from the objects of KIND, from the one with NAME, or from --all.

    Only the mark is removed; the objects then have no owner. The annotation intentc-released keeps it, and `intentc
    adopt` puts it back. A compiler that runs before that adopts objects of kinds that only compilers make: it deletes
    those whose parent was deleted, and access control lists that nobody needs. It treats all others as users' objects,
    never deletes them, and reports NameTaken where it needs their names.

    Stop the compilers first. Allocated numbers stay allocated. The command can be repeated at any time. With --all the
    installation also releases etcd.path, so that another one may claim it.
    """
    if everything == bool(kind):
        raise click.UsageError("give either KIND, KIND and NAME, or --all")
    return anyio.run(_release, kind, name, dry_run, force, output, loaded)


async def _release(
    kind_name: str | None, name: str | None, dry_run: bool, force: bool, output: str, loaded: Loaded
) -> int:
    from intentc.leading import UnreadableClaim
    from intentc.model import RELEASED_KEY
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

    async def find(kind: Kind) -> list[Marked]:
        return await marked_objects(store, configuration, kind, name)

    async def check() -> None:
        if not force:
            await _check_no_compiler_runs(store, configuration.intentc.installation)

    try:
        if dry_run:
            found = [marked for kind in kinds for marked in await find(kind)]
        else:
            async with ApiClient(Connection(api_server(configuration))) as client:
                changes = MarkChanges(client, find=find, key=RELEASED_KEY, check=check, done="released")
                found = await changes.make(kinds)
            if not kind_name:
                try:
                    await _give_up_the_path(store, configuration, force=force)
                except (CommandError, UnreadableClaim):
                    changes.report()
                    raise
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()
    if name and not found:
        installation = configuration.intentc.installation
        raise CommandError(
            f"there is no {kinds[0].name} {name} with the mark of the installation {installation}",
            next_step=f"`intentc release {kinds[0].name} --dry-run` lists all",
        )
    rows = [(marked.kind, marked.name, marked.uuid) for marked in found]
    print_document(output, {"released": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}, _COLUMNS, rows)
    click.echo(f"{len(found)} objects {'would be released' if dry_run else 'released'}", err=True)
    if found and not dry_run:
        click.echo("`intentc adopt` takes them back, before or while a compiler runs", err=True)
    return Exit.DONE


async def _give_up_the_path(store: Store, configuration: Configuration, *, force: bool) -> None:
    """Let another installation claim the path, once nothing below it carries our mark.

    Raises ``CommandError`` while a compiler of this installation runs, also where nothing is marked.
    """
    from intentc.leading import PathInUse, release_path

    path, installation = configuration.etcd.path, configuration.intentc.installation
    try:
        if not force:
            await _check_no_compiler_runs(store, installation)
        given_up = await release_path(store, path, installation, force=force)
    except PathInUse as error:
        raise CommandError(str(error), where=f"etcd: {error.key}", next_step=_STOP_IT) from None
    if given_up:
        click.echo(f"the path {path} is released: another installation may claim it", err=True)


async def _check_no_compiler_runs(store: Store, installation: str) -> None:
    from intentc.watch.keys import heartbeat_prefix, leader_key
    from intentc.watch.protocol import prefix_end

    leader, beats = leader_key(installation), heartbeat_prefix(installation)
    found = [
        *(await store.range(leader, keys_only=True)).items,
        *(await store.range(beats, prefix_end(beats), keys_only=True)).items,
    ]
    if found:
        raise CommandError(
            f"a compiler of the installation {installation} runs, and would take the objects back",
            where=f"etcd: {found[0].key}",
            next_step=_STOP_IT,
        )
