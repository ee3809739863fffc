"""``intentc migrate``: writes resources that are stored in an older version of their kind in the present one.

Why it exists: a version may be dropped from a schema once nothing is stored in it. Each resource is read and written by
the API server, in one transaction, unless somebody is faster; its meaning stays the same, so nothing is compiled anew
to another result. ``older_entries`` also serves ``check --live``; a second run finds the rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from intentc.loading.configuration import Configuration, Loaded
from intentc.model import Change, InvalidInput, Kind, Schema, escaped_segment
from intentc.watch.listing import items_below
from intentc.watch.protocol import Store

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..connecting import open_store
from ..named_resources import kinds_named
from ..output import print_document

if TYPE_CHECKING:
    from ..api_client import ApiClient

_BATCH = 50
"""Resources in one transaction; halved if the server rejects it."""
_COLUMNS = ("kind", "name", "uuid", "version")


@click.command(name="migrate")
@click.argument("kinds", metavar="KIND...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="The resources of all kinds.")
@click.option("--dry-run", is_flag=True, help="List what would be written; write nothing.")
@output_option
@configured()
async def command(kinds: tuple[str, ...], everything: bool, dry_run: bool, output: str, loaded: Loaded) -> int:
    """Write the resources of KIND... (or of --all kinds) that are stored in an older version in the present one.

    Compilers may run: what follows from the resources stays the same. Start all API servers and compilers with the
    schema that has both versions first. Exit code 5 if some can't be converted; they stay as they are.
    """
    if everything == bool(kinds):
        raise click.UsageError("give either KIND... or --all")
    from intentc.plugins import declared

    from ..api_client import api_client

    configuration = loaded.configuration
    schema = declared(configuration).schema
    async with open_store(configuration) as store:
        found = [entry async for entry in older_entries(store, configuration, schema, kinds_named(schema, kinds))]
    for entry in found:
        if entry.fault:
            click.echo(f"{entry.kind} {entry.name} stays as it is: {entry.fault}", err=True)
    older = [entry for entry in found if not entry.fault]
    rejected: dict[str, CommandError] = {}
    if older and not dry_run:
        async with api_client(configuration) as client:
            rejected = await _write(client, older)
    for name, error in rejected.items():
        click.echo(f"{name} stays as it is: {error.what}", err=True)
    rows = [tuple(entry[: len(_COLUMNS)]) for entry in older if f"{entry.kind} {entry.name}" not in rejected]
    print_document(output, {"migrated": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}, _COLUMNS, rows)
    click.echo(f"{len(rows)} resources {'would be migrated' if dry_run else 'migrated'}", err=True)
    return Exit.HELD if rejected or len(older) < len(found) else Exit.DONE


async def _write(client: ApiClient, entries: Sequence[Entry]) -> dict[str, CommandError]:
    """Have the server write ``entries`` as they are; returns those that it rejects, by kind and name."""
    from ..api_client import Change, Rejected

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


class Entry(NamedTuple):
    """A stored resource of another version than the present one. ``version``: that version, empty if unknown.
    ``fault``: why the schema can't read it, ``reason``: in one word; empty if it can."""

    kind: str
    uuid: str
    name: str
    version: str
    fault: str = ""
    reason: str = ""


async def older_entries(
    store: Store, configuration: Configuration, schema: Schema, kinds: Iterable[Kind]
) -> AsyncIterator[Entry]:
    """Yield the resources of ``kinds`` that are stored in an older version, or that can't be read, by key. Raises
    ``Failure``."""
    from intentc.retained import KnownFields

    await KnownFields(store, schema, installation=configuration.intentc.installation).load()
    for kind in kinds:
        prefix = f"/{configuration.etcd.path}/{kind.name}/"
        async for item in items_below(store, prefix):
            uuid = escaped_segment(item.key.removeprefix(prefix))
            name, version = _identity(kind, item.value)
            try:
                kind.decode(Change(kind.name, uuid, item.value, item.create_revision, item.mod_revision))
            except InvalidInput as error:
                yield Entry(kind.name, uuid, name or uuid, version, error.message, error.reason)
                continue
            if kind.versions.is_older(item.value) and version != kind.versions.current:
                yield Entry(kind.name, uuid, name or uuid, version)


def _identity(kind: Kind, raw: bytes) -> tuple[str, str]:
    """The name and the version of a value, as far as it has them."""
    try:
        document = msgspec.json.decode(raw)
        fq_name = document.get("fq_name") or ()
        return ":".join(map(str, fq_name)), kind.versions.version_of(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, TypeError):
        return "", ""
