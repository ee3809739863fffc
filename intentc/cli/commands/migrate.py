"""``intentc migrate``: writes resources that are stored in an older version of their kind in the present one.

Why it exists: a version may be dropped from a schema once nothing is stored in it. Each resource is read and written by
the API server, in one transaction, unless somebody is faster; its meaning stays the same, so nothing is compiled anew
to another result. ``stored`` finds what is to be written; a second run finds the rest.

It reads etcd, changes the API server's resources, and prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import click

from ..errors import CommandError, Exit
from ..options import configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

    from ..client import ApiClient
    from ..stored import Entry

_BATCH = 50
"""Resources in one transaction; halved if the server rejects it."""
_COLUMNS = ("kind", "name", "uuid", "version")


@click.command(name="migrate")
@click.argument("kinds", metavar="KIND...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="The resources of all kinds.")
@click.option("--dry-run", is_flag=True, help="List what would be written; write nothing.")
@output_option
@configured()
def command(kinds: tuple[str, ...], everything: bool, dry_run: bool, output: str, loaded: Loaded) -> int:
    """Write the resources of KIND... (or of --all kinds) that are stored in an older version in the present one.

    Compilers may run: what follows from the resources stays the same. Start all API servers and compilers with the
    schema that has both versions first. Exit code 5 if some can't be converted; they stay as they are.
    """
    if everything == bool(kinds):
        raise click.UsageError("give either KIND... or --all")
    return anyio.run(_migrate, kinds, dry_run, output, loaded)


async def _migrate(names: tuple[str, ...], dry_run: bool, output: str, loaded: Loaded) -> int:
    from intentc.plugins import declared
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server, etcd_store
    from ..naming import kind_named
    from ..output import print_document
    from ..stored import older_entries

    configuration = loaded.configuration
    schema = declared(configuration).schema
    kinds = [kind_named(schema, name) for name in names] or sorted(schema, key=lambda kind: kind.name)
    store = etcd_store(configuration)
    try:
        found = [entry async for entry in older_entries(store, configuration, schema, kinds)]
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()
    for entry in found:
        if entry.fault:
            click.echo(f"{entry.kind} {entry.name} stays as it is: {entry.fault}", err=True)
    older = [entry for entry in found if not entry.fault]
    rejected: dict[str, CommandError] = {}
    if older and not dry_run:
        async with ApiClient(Connection(api_server(configuration))) as client:
            rejected = await _write(client, older)
    for name, error in rejected.items():
        click.echo(f"{name} stays as it is: {error.what}", err=True)
    rows = [tuple(entry[: len(_COLUMNS)]) for entry in older if f"{entry.kind} {entry.name}" not in rejected]
    print_document(output, {"migrated": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}, _COLUMNS, rows)
    click.echo(f"{len(rows)} resources {'would be migrated' if dry_run else 'migrated'}", err=True)
    return Exit.HELD if rejected or len(older) < len(found) else Exit.DONE


async def _write(client: ApiClient, entries: Sequence[Entry]) -> dict[str, CommandError]:
    """Have the server write ``entries`` as they are; returns those that it rejects, by kind and name."""
    from ..client import Change, Rejected

    waiting = [entries[first : first + _BATCH] for first in range(0, len(entries), _BATCH)]
    rejected: dict[str, CommandError] = {}
    while waiting:
        part = waiting.pop(0)
        try:
            await client.sync([Change("UPDATE", entry.kind, {"uuid": entry.uuid}) for entry in part])
        except Rejected as error:
            if error.code is Exit.UNREACHABLE:
                raise
            if len(part) == 1:
                rejected[f"{part[0].kind} {part[0].name}"] = error
            else:
                middle = len(part) // 2
                waiting[:0] = [part[:middle], part[middle:]]
    return rejected
