"""``intentc release``: removes our marks, so that intentc no longer owns the objects; deletes nothing.

Why it exists: removing intentc must be as safe as introducing it. What a later compiler does with objects without a
mark is in docs/engine.md §5.6: most it takes for a user's. Objects are written through the API server with
compare-and-set; a second run continues with the rest. ``marks`` finds the marked objects.

It reads etcd, changes the API server's resources, and prints. It changes marks, and with ``--all`` the claim on the
path in etcd; it deletes no object. State: what this run released, and what was rejected.

Touches: etcd, terminal; through others: clock, environment, files, gRPC, HTTP, logs, sockets.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
import click

from ..errors import CommandError, Exit
from ..marks import Marked, marked_objects
from ..options import configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.model import Kind
    from intentc.watch.protocol import Store

    from ..client import ApiClient

_BATCH = 50
"""Objects in one transaction; halved if the server accepts fewer."""
_ROUNDS = 3
"""Attempts for an object that another writer changes at the same time."""
_WRITTEN_MEANWHILE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED})
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

    Only the mark is removed; the objects then have no owner. A compiler that runs later adopts objects of kinds that
    only compilers make: it deletes those whose parent was deleted, and access control lists that nobody needs. It
    treats all others as users' objects, and never deletes them.

    Stop the compilers first. Allocated numbers stay allocated. The command can be repeated at any time. With --all the
    installation also releases etcd.path, so that another one may claim it.
    """
    if everything == bool(kind):
        raise click.UsageError("give either KIND, KIND and NAME, or --all")
    return anyio.run(_release, kind, name, dry_run, force, output, loaded)


async def _release(
    kind_name: str | None, name: str | None, dry_run: bool, force: bool, output: str, loaded: Loaded
) -> int:
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
    try:
        if dry_run:
            found = [marked for kind in kinds for marked in await marked_objects(store, configuration, kind, name)]
        else:
            async with ApiClient(Connection(api_server(configuration))) as client:
                releasing = Releasing(store, client, configuration, force)
                found = await releasing.release(kinds, name)
            if not kind_name:
                await releasing.give_up_the_path()
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
    return Exit.DONE


class Releasing:
    """One run, over a store and an API server."""

    def __init__(self, store: Store, client: ApiClient, configuration: Configuration, force: bool) -> None:
        self._store = store
        self._client = client
        self._configuration = configuration
        self._force = force
        self._released: list[Marked] = []
        self._rejected: dict[str, CommandError] = {}

    async def release(self, kinds: Sequence[Kind], name: str | None) -> list[Marked]:
        """Release the marked objects of ``kinds``, and return them. Raises ``CommandError`` if some could not be
        released: a compiler runs, or the server rejected them or is away; stderr says how many were released before."""
        try:
            for kind in kinds:
                left = await self._release_kind(kind, name)
                if left:
                    self._rejected.setdefault(left[0].name, CommandError("another writer keeps changing it"))
        except CommandError:
            self._report_released()
            raise
        if self._rejected:
            self._report_released()
            first, error = next(iter(self._rejected.items()))
            raise CommandError(
                f"{len(self._rejected)} objects could not be released; {first}: {error.what}",
                where=error.where,
                next_step="fix that, and run the command again: it continues with the rest",
            )
        return self._released

    async def give_up_the_path(self) -> None:
        """Let another installation claim the path, once nothing below it carries our mark.

        Raises ``CommandError`` while a compiler of this installation runs, also where nothing is marked.
        """
        from intentc.leading import PathInUse, UnreadableClaim, release_path

        path, installation = self._configuration.etcd.path, self._configuration.intentc.installation
        try:
            if not self._force:
                await self._check_no_compiler_runs()
            given_up = await release_path(self._store, path, installation, force=self._force)
        except PathInUse as error:
            self._report_released()
            raise CommandError(str(error), where=f"etcd: {error.key}", next_step=_STOP_IT) from None
        except (CommandError, UnreadableClaim):
            self._report_released()
            raise
        if given_up:
            click.echo(f"the path {path} is released: another installation may claim it", err=True)

    async def _release_kind(self, kind: Kind, name: str | None) -> list[Marked]:
        """Release the objects of a kind; those that another writer changed in every round are returned."""
        left: list[Marked] = []
        for _ in range(_ROUNDS):
            found = await marked_objects(self._store, self._configuration, kind, name)
            left = []
            for first in range(0, len(found), _BATCH):
                left += await self._send(found[first : first + _BATCH])
            if not left:
                break
        return left

    async def _send(self, batch: Sequence[Marked]) -> list[Marked]:
        """Release a batch, halving it if the server rejects it; returns objects that were written meanwhile, to read
        again."""
        from ..client import Rejected

        waiting: list[Sequence[Marked]] = [batch]
        again: list[Marked] = []
        while waiting:
            part = waiting.pop()
            if not self._force:
                await self._check_no_compiler_runs()
            try:
                await self._client.sync([marked.without_mark for marked in part])
            except Rejected as error:
                if error.code is Exit.UNREACHABLE:
                    raise
                if len(part) > 1:
                    middle = len(part) // 2
                    waiting += [part[middle:], part[:middle]]
                elif error.status in _WRITTEN_MEANWHILE:
                    again += part
                else:
                    self._rejected[part[0].name] = error
            else:
                self._released += part
        return again

    async def _check_no_compiler_runs(self) -> None:
        from intentc.watch.keys import heartbeat_prefix, leader_key
        from intentc.watch.protocol import prefix_end

        installation = self._configuration.intentc.installation
        leader, beats = leader_key(installation), heartbeat_prefix(installation)
        found = [
            *(await self._store.range(leader, keys_only=True)).items,
            *(await self._store.range(beats, prefix_end(beats), keys_only=True)).items,
        ]
        if found:
            raise CommandError(
                f"a compiler of the installation {installation} runs, and would take the objects back",
                where=f"etcd: {found[0].key}",
                next_step=_STOP_IT,
            )

    def _report_released(self) -> None:
        if self._released:
            click.echo(f"{len(self._released)} objects released before this", err=True)
