"""``intentc delete``: delete the resources that files name, or one kind's by their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
import click

from ..errors import CommandError, Exit
from ..options import complete_files, configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Key, Schema

    from ..client import ApiClient
    from ..consequences import Named
    from ..transfer import Done


@click.command(name="delete")
@click.argument("given", metavar="FILE...", nargs=-1, required=True, shell_complete=complete_files)
@click.option("--kind", help="In place of files, names of this kind, as `get` takes them: --kind KIND NAME...")
@click.option("--let-go", is_flag=True, help="With --kind: what refers to them lets go, in the same transaction.")
@output_option
@click.option("--wait", is_flag=True, help="Wait until what was compiled from them is gone, too.")
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait at most.")
@configured()
def command(
    given: tuple[str, ...],
    kind: str | None,
    let_go: bool,
    output: str,
    wait: bool,
    timeout: float,
    loaded: Loaded,
) -> int:
    """Delete the resources named in FILE... (as for apply), those that refer to others first; or, with --kind, those
    of this kind that are named so.

    What a file names and is not there any more is no error. Lower-level resources that were compiled go by themselves;
    --wait asks the compiler at intentc.diagnostics.address until they have. Exit code 5 if something that follows is
    held or refused. `intentc plan --delete` shows what would go, and deletes nothing.
    """
    patience = timeout if wait else None
    if kind is not None:
        return anyio.run(_delete_named, kind, given, let_go, output, patience, loaded)
    if let_go:
        raise click.UsageError("--let-go goes with --kind")
    return anyio.run(_delete, given, output, patience, loaded)


async def _delete_named(
    kind_name: str, names: tuple[str, ...], let_go: bool, output: str, timeout: float | None, loaded: Loaded
) -> int:
    from intentc.plugins import installed
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..transfer import print_actions

    schema = installed(loaded.configuration).schema
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        done = await delete_named(client, schema, kind_name, names, let_go=let_go)
        print_actions(output, done, client.revision)
        revision = client.revision
    about = {(kind, ":".join(fq_name)) for kind, fq_name, _ in done}
    return await _until_gone(about, revision, timeout, loaded)


async def delete_named(
    client: ApiClient,
    schema: Schema,
    kind_name: str,
    names: Sequence[str],
    seen: Mapping[Key, int] | None = None,
    *,
    let_go: bool = False,
) -> list[Done]:
    """Delete the resources of one kind that ``names`` mean; what was done. ``seen``: as for ``delete_by``. ``let_go``:
    what refers to them does so no longer."""
    from intentc.model import Key

    from ..client import Change, Refused
    from ..letting_go import holders_of
    from ..lookup import look_up
    from ..transfer import STALE, Stale, with_names
    from .get import kind_named

    kind = kind_named(schema, kind_name)
    # All are looked up before the first is deleted: a misspelt name should not leave half of it done.
    found = {Key(kind.name, one.uuid): one for one in [await look_up(client, kind, name) for name in names]}
    holders = await holders_of(client, schema, found) if let_go else []
    changes = [holder.change(_revision(seen, holder.key)) for holder in holders]
    changes += [Change("DELETE", key.kind, {"uuid": key.uuid}, _revision(seen, key)) for key in found]
    try:
        await client.sync(changes)
    except Refused as error:
        if seen is not None and error.status in STALE:
            raise Stale(error.what) from None
        if error.item is not None and error.item < len(holders):
            holder = holders[error.item]
            raise CommandError(
                f"{holder.key.kind} {':'.join(holder.fq_name)} can't let go: {await with_names(client, error.what)}",
                where=error.where,
                next_step="give it another reference, or delete it before",
                code=error.code,
            ) from None
        held = not let_go and error.status in STALE
        hint = "or give --let-go: then they let go, in the same transaction" if held else error.next_step
        raise CommandError(
            await with_names(client, error.what), where=error.where, next_step=hint, code=error.code
        ) from None
    return [(key.kind, fq_name, "let go") for key, fq_name, _ in holders] + [
        (key.kind, one.fq_name or [one.uuid], "deleted") for key, one in found.items()
    ]


async def _delete(files: tuple[str, ...], output: str, timeout: float | None, loaded: Loaded) -> int:
    from intentc.writing.connection import Connection

    from ..client import ApiClient
    from ..connecting import api_server
    from ..ordering import name_of
    from ..transfer import print_results, read_input

    resources, schema = read_input(files, loaded.configuration)
    async with ApiClient(Connection(api_server(loaded.configuration))) as client:
        resources, uuids = await delete_by(client, resources, schema)
        print_results(output, resources, ["deleted" if uuid else "absent" for uuid in uuids], client.revision)
        revision = client.revision
    about = {(resource.kind, name_of(resource)) for resource in resources}
    return await _until_gone(about, revision, timeout, loaded)


async def delete_by(
    client: ApiClient, resources: Sequence[Input], schema: Schema, seen: Mapping[Key, int] | None = None
) -> tuple[list[Input], list[str | None]]:
    """Delete ``resources`` (targets first, as ``read_input`` gives them) at the server of ``client``: what they are in
    the order in which they go, and the uuid of each that was there. ``seen``: the revisions at which they must still
    stand, for all of them, in one transaction; raises ``Stale`` if one doesn't."""
    from intentc.model import InvalidInput, Key

    from ..client import Change
    from ..transfer import Sent, present, send

    order = list(reversed(resources))
    for resource in order:
        if not resource.data.get("fq_name") and not resource.data.get("uuid"):
            raise InvalidInput("deleting needs the resource's fq_name or uuid", source=resource.source)
    uuids = await present(client, order, schema)
    changes = [
        Sent(resource, Change("DELETE", resource.kind, {"uuid": uuid}, _revision(seen, Key(resource.kind, uuid))))
        for resource, uuid in zip(order, uuids, strict=True)
        if uuid
    ]
    await send(client, changes, together=seen is not None)
    return order, uuids


def _revision(seen: Mapping[Key, int] | None, key: Key) -> int | None:
    return None if seen is None else seen.get(key, 0)


async def _until_gone(about: Collection[Named], revision: int, timeout: float | None, loaded: Loaded) -> int:
    from ..consequences import verdict
    from ..waiting import wait_until_converged

    if timeout is None:
        return Exit.DONE
    diagnostics = loaded.configuration.intentc.diagnostics
    return await verdict(diagnostics, await wait_until_converged(diagnostics, revision, timeout), about)
