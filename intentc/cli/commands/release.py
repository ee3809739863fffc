"""``intentc release`` and ``intentc adopt``: remove our marks, so that objects have no owner, and put them back.

Why they exist: removing intentc must be as safe as introducing it. What a later compiler does with objects without a
mark is in docs/engine.md §5.6: most it takes for a user's. The mark is kept under another annotation, so that ``adopt``
can put it back, onto an object that has the uuid that this mark gives (docs/engine.md §5.5): such an object was made by
this installation, under this name. Marks are read leniently and from etcd: an object with other unreadable fields can
still be released, and only etcd returns revisions with the objects.

They delete nothing. A second run continues with the rest. ``release --all`` also gives up the claim on the path in
etcd.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from intentc.loading.configuration import Configuration, Loaded
from intentc.model import Kind, Mark, Name, escaped_segment
from intentc.model.ownership import MARK_KEY, RELEASED_KEY, is_made_by
from intentc.watch.keys import heartbeat_prefix, leader_key
from intentc.watch.listing import items_below
from intentc.watch.protocol import Store, prefix_end

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..connecting import open_store
from ..directive_client import picked
from ..named_resources import kinds_named
from ..output import print_document

if TYPE_CHECKING:
    from ..api_client import ApiClient, Change

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
async def command(
    kind: str | None, name: str | None, everything: bool, dry_run: bool, force: bool, output: str, loaded: Loaded
) -> int:
    """Remove the mark of intentc.installation from the objects of KIND, from the one with NAME, or from --all.

    Only the mark is removed; the objects then have no owner. The annotation intentc-released keeps it, and `intentc
    adopt` puts it back. A compiler that runs before that adopts objects of kinds that only compilers make: it deletes
    those whose parent was deleted, and access control lists that nobody needs. It treats all others as users' objects,
    never deletes them, and reports NameTaken where it needs their names.

    Stop the compilers first. Allocations stay. The command can be repeated at any time. With --all the
    installation also releases etcd.path, so that another one may claim it.
    """
    if everything == bool(kind):
        raise click.UsageError("give either KIND, KIND and NAME, or --all")
    from intentc.leading import UnreadableClaim
    from intentc.plugins import declared

    from ..api_client import api_client

    configuration = loaded.configuration
    kinds = kinds_named(declared(configuration).schema, [kind] if kind else [])
    async with open_store(configuration) as store:

        async def find(kind: Kind) -> list[Marked]:
            return await marked_objects(store, configuration, kind, name)

        async def check() -> None:
            if not force:
                await _check_no_compiler_runs(store, configuration.intentc.installation)

        if dry_run:
            found = [marked for one in kinds for marked in await find(one)]
        else:
            async with api_client(configuration) as client:
                changes = MarkChanges(client, find=find, key=RELEASED_KEY, check=check, done="released")
                found = await changes.make(kinds)
            if everything:
                try:
                    await _give_up_the_path(store, configuration, force=force)
                except (CommandError, UnreadableClaim):
                    changes.report()
                    raise
    if name and not found:
        installation = configuration.intentc.installation
        raise CommandError(
            f"there is no {kinds[0].name} {name} with the mark of the installation {installation}",
            next_step=f"`intentc release {kinds[0].name} --dry-run` lists all",
        )
    _print(output, "released", found)
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


@click.command(name="adopt")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="The objects of all kinds.")
@click.option("--yes", is_flag=True, help="Adopt them; without it, only show which ones would be adopted.")
@output_option
@configured()
async def adopt_command(
    kind: str | None, name: str | None, everything: bool, yes: bool, output: str, loaded: Loaded
) -> int:
    """Take back released objects of KIND, the one with NAME, or --all, for intentc.installation.

    Shows what would be adopted; --yes adopts it. A compiler may run: it then goes on with its own objects, and deletes
    those that nothing needs any more, as any of its own. An object whose uuid is not the one that this installation
    gives can't be ours, and is left as it is: delete it, and the compiler makes its own.
    """
    if everything == bool(kind):
        raise click.UsageError("give either KIND, KIND and NAME, or --all")
    from intentc.leading import check_claim
    from intentc.plugins import declared

    from ..api_client import api_client

    configuration = loaded.configuration
    kinds = kinds_named(declared(configuration).schema, [kind] if kind else [])
    others: dict[str, Marked] = {}
    async with open_store(configuration) as store:

        async def find(kind: Kind) -> list[Marked]:
            released = await marked_objects(store, configuration, kind, name, RELEASED_KEY)
            others.update({marked.uuid: marked for marked in released if not marked.is_made_by_us})
            return [marked for marked in released if marked.is_made_by_us]

        async def check() -> None:
            """A released path may belong to another installation by now."""
            await check_claim(
                store, configuration.etcd.path, configuration.intentc.installation, configuration.intentc.compilers
            )

        if yes:
            async with api_client(configuration) as client:
                found = await MarkChanges(client, find=find, key=MARK_KEY, check=check, done="adopted").make(kinds)
        else:
            await check()
            found = [marked for one in kinds for marked in await find(one)]
    for other in others.values():
        click.echo(
            f"{other.kind} {other.name} has uuid {other.uuid}, which is not the one that we give, so it can't be ours; "
            f"if the compiler needs the name, `intentc delete --kind {other.kind} {other.uuid}`",
            err=True,
        )
    if name and not found and not others:
        raise CommandError(
            f"there is no {kinds[0].name} {name} that the installation {configuration.intentc.installation} released",
            next_step=f"delete it with `intentc delete --kind {kinds[0].name} {name}`, and the compiler makes its own",
        )
    _print(output, "adopted", found)
    hint = "; to do it, give --yes" if found else ""
    click.echo(f"{len(found)} objects adopted" if yes else f"{len(found)} objects would be adopted{hint}", err=True)
    return Exit.DONE


def _print(output: str, done: str, found: Sequence[Marked]) -> None:
    rows = [(marked.kind, marked.name, marked.uuid) for marked in found]
    print_document(output, {done: [dict(zip(_COLUMNS, row, strict=True)) for row in rows]}, _COLUMNS, rows)


class Marked(NamedTuple):
    """An object with our ``mark``, or that had it. ``others``: its other annotations."""

    kind: str
    uuid: str
    fq_name: tuple[str, ...]
    revision: int
    others: tuple[dict[str, Any], ...]
    mark: Mark

    @property
    def name(self) -> str:
        return ":".join(self.fq_name)

    @property
    def is_made_by_us(self) -> bool:
        """Whether the uuid is the one that the mark gives. A copy, or an object that was made again, has another."""
        return is_made_by(self.mark.installation, self.mark, Name(self.kind, self.fq_name), self.uuid)

    def moved_to(self, key: str) -> Change:
        """The change that keeps the mark as the annotation ``key`` alone, provided that nobody wrote the object
        meanwhile."""
        from ..api_client import Change

        pairs = (*self.others, {"key": key, "value": str(self.mark)})
        data = {"uuid": self.uuid, "fq_name": self.fq_name, "annotations": {"key_value_pair": pairs}}
        return Change("UPDATE", self.kind, data, self.revision)


class _Annotations(msgspec.Struct):
    key_value_pair: tuple[dict[str, Any], ...] | None = None


class _Annotated(msgspec.Struct):
    fq_name: tuple[str, ...] = ()
    annotations: _Annotations | None = None


async def marked_objects(
    store: Store, configuration: Configuration, kind: Kind, name: str | None, key: str = MARK_KEY
) -> list[Marked]:
    """The objects of ``kind`` whose annotation ``key`` is our mark; only those named ``name`` if it is given.
    Unreadable ones are reported on stderr and left out."""
    prefix = f"/{configuration.etcd.path}/{kind.name}/"
    found = [marked async for marked in _read(store, prefix, kind.name, configuration.intentc.installation, key)]
    return picked(name, [(m.uuid, m.fq_name, m) for m in found]) if name else found


async def _read(store: Store, prefix: str, kind: str, installation: str, key: str) -> AsyncIterator[Marked]:
    async for item in items_below(store, prefix):
        uuid = escaped_segment(item.key.removeprefix(prefix))
        try:
            value = msgspec.json.decode(item.value, type=_Annotated)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            click.echo(f"{prefix}{uuid} can't be read, and stays as it is", err=True)
            continue
        pairs = (value.annotations.key_value_pair if value.annotations else None) or ()
        marks = [Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == key]
        own = next((mark for mark in marks if mark is not None and mark.installation == installation), None)
        if own is not None:
            others = tuple(pair for pair in pairs if pair.get("key") not in {MARK_KEY, RELEASED_KEY})
            yield Marked(kind, uuid, value.fq_name, item.mod_revision, others, own)


_BATCH = 50
"""Objects in one transaction; halved if the server accepts fewer."""
_ROUNDS = 3
"""Attempts for an object that another writer changes at the same time."""
_WRITTEN_MEANWHILE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED})


class MarkChanges:
    """One run. ``find``: the objects of a kind that are left. ``key``: the annotation to which their marks are moved.
    ``check``: called before each batch, raises if it must not be sent. ``done``: the participle for people."""

    def __init__(
        self,
        client: ApiClient,
        *,
        find: Callable[[Kind], Awaitable[list[Marked]]],
        key: str,
        check: Callable[[], Awaitable[None]],
        done: str,
    ) -> None:
        self._client = client
        self._find = find
        self._key = key
        self._check = check
        self._done = done
        self._changed: list[Marked] = []
        self._rejected: dict[str, CommandError] = {}

    async def make(self, kinds: Sequence[Kind]) -> list[Marked]:
        """Move the marks of the objects of ``kinds``, and return the objects. Raises ``CommandError`` if some could not
        be changed: ``check`` failed, or the server rejected them or is away; stderr says how many were changed before.
        """
        try:
            for kind in kinds:
                left = await self._change_kind(kind)
                if left:
                    self._rejected.setdefault(left[0].name, CommandError("another writer keeps changing it"))
        except CommandError:
            self.report()
            raise
        if self._rejected:
            self.report()
            first, error = next(iter(self._rejected.items()))
            raise CommandError(
                f"{len(self._rejected)} objects could not be {self._done}; {first}: {error.what}",
                where=error.where,
                next_step="fix that, and run the command again: it continues with the rest",
            )
        return self._changed

    def report(self) -> None:
        """Print on stderr how many objects were changed before an error."""
        if self._changed:
            click.echo(f"{len(self._changed)} objects {self._done} before this", err=True)

    async def _change_kind(self, kind: Kind) -> list[Marked]:
        """Change the objects of a kind; those that another writer changed in every round are returned."""
        left: list[Marked] = []
        for _ in range(_ROUNDS):
            found = await self._find(kind)
            left = []
            for first in range(0, len(found), _BATCH):
                left += await self._send(found[first : first + _BATCH])
            if not left:
                break
        return left

    async def _send(self, batch: Sequence[Marked]) -> list[Marked]:
        """Change a batch, halving it if the server rejects it; returns objects that were written meanwhile, to read
        again."""
        from ..api_client import Rejected

        waiting: list[Sequence[Marked]] = [batch]
        again: list[Marked] = []
        while waiting:
            part = waiting.pop()
            await self._check()
            try:
                await self._client.sync([marked.moved_to(self._key) for marked in part])
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
                self._changed += part
        return again
