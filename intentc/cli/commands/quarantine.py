"""``intentc quarantine``: lists what is held and why, retries it, or drops it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click
import msgspec

from intentc.directives import Drop, Retry
from intentc.loading.configuration import Loaded
from intentc.model import Key

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..diagnostics_client import current_status, wait_for
from ..directive_client import (
    Entry,
    all_held,
    directives_client,
    quarantined,
    shown,
    signature,
    waits_for_directive,
    whole,
)
from ..output import print_document

_COLUMNS = ("kind", "name", "state", "since", "tries", "next try", "message")


@click.group(name="quarantine")
def command() -> None:
    """List what can't be compiled or written now, retry it, or drop it."""


@command.command(name="list", short_help="List what is held, and why.")
@output_option
@configured()
async def list_command(output: str, loaded: Loaded) -> int:
    """List what is held, rejected, contended, paused or dropped, with the reasons (queries the running compiler)."""
    diagnostics = loaded.configuration.intentc.diagnostics
    entries = await whole(diagnostics, await current_status(diagnostics))
    rows = [
        (
            entry.kind,
            entry.name or entry.uuid,
            entry.state,
            _time(entry.since),
            str(entry.tries),
            _time(entry.next_try),
            entry.message,
        )
        for entry in entries
    ]
    print_document(output, {"quarantine": [msgspec.structs.asdict(entry) for entry in entries]}, _COLUMNS, rows)
    if output == "table" and not rows:
        click.echo("nothing is quarantined", err=True)
    return Exit.DONE


@command.command(name="retry", short_help="Retry one resource, or all.")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Everything in quarantine, except dropped intents.")
@waits_for_directive
@configured()
async def retry_command(
    kind: str | None, name: str | None, everything: bool, timeout: float | None, loaded: Loaded
) -> int:
    """Retry the resource of KIND with NAME now, also if it was dropped or is suspected of ending a process.

    With --wait (the default), waits until the compiler has retried it; exit code 5 if it is still in quarantine.
    """
    return await _retry(_one_or_all(kind, name, everything), timeout, loaded)


@command.command(name="drop", short_help="Delete the outputs of a held intent.")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Every intent that is held; needs --yes.")
@click.option("--yes", is_flag=True, help="Confirm that all outputs of these intents are deleted.")
@waits_for_directive
@configured()
async def drop_command(
    kind: str | None, name: str | None, everything: bool, yes: bool, timeout: float | None, loaded: Loaded
) -> int:
    """Drop the held intent of KIND with NAME: its outputs are deleted.

    It is not compiled until its resource changes, or until `intentc quarantine retry`.
    """
    wanted = _one_or_all(kind, name, everything)
    if everything and not yes:
        raise click.UsageError("--all deletes the outputs of every held intent; confirm with --yes")
    return await _drop(wanted, timeout, loaded)


def _one_or_all(kind: str | None, name: str | None, everything: bool) -> tuple[str, str] | None:
    """KIND and NAME, None for ``--all``."""
    if everything == bool(kind) or (kind and not name):
        raise click.UsageError("give either KIND and NAME, or --all")
    return (kind, name) if kind and name else None


async def _retry(wanted: tuple[str, str] | None, timeout: float | None, loaded: Loaded) -> int:
    async with directives_client(loaded.configuration) as client:
        if wanted is None:
            key, directive, what = None, Retry(**signature()), "everything"
        else:
            target = await quarantined(client, *wanted, frozenset({"paused"}), "is paused; `intentc resume` ends that")
            key, what = target.key, f"{target.key.kind} {shown(target.key.uuid, target.name)}"
            directive = Retry(kind=key.kind, uuid=key.uuid, name=target.name, **signature())
        status = await client.obeyed(await client.book.put(directive), timeout)
        if status is not None and timeout is not None:
            status, _ = await wait_for(client.diagnostics, lambda status: bool(status.get("converged")), timeout)
    click.echo(f"retried {what}" if status is not None else f"requested a retry of {what}")
    still = _still_held(
        await whole(loaded.configuration.intentc.diagnostics, status) if status is not None else (), key
    )
    for entry in still:
        click.echo(f"{entry.state}: {entry.kind} {entry.name or entry.uuid}: {entry.message}", err=True)
    return Exit.HELD if still else Exit.DONE


async def _drop(wanted: tuple[str, str] | None, timeout: float | None, loaded: Loaded) -> int:
    async with directives_client(loaded.configuration) as client:
        if wanted is None:
            targets = await all_held(client)
        else:
            others = frozenset({"rejected", "contended", "paused"})
            if (kind := client.kind(wanted[0])).name not in client.compiled:
                raise CommandError(
                    f"{kind.name} has no intents that could be dropped",
                    next_step=f"delete it: `intentc delete --kind {kind.name} {wanted[1]}`",
                )
            targets = [await quarantined(client, *wanted, others, "is not held; only a held intent can be dropped")]
        revision = 0
        for key, name, mod_revision in targets:
            revision = await client.book.put(
                Drop(kind=key.kind, uuid=key.uuid, name=name, mod_revision=mod_revision, **signature())
            )
        if revision:
            await client.obeyed(revision, timeout)
    for key, name, _ in targets:
        click.echo(f"dropped {key.kind} {shown(key.uuid, name)}")
    if not targets:
        click.echo("no intent is held", err=True)
    return Exit.DONE


def _still_held(entries: Iterable[Entry], key: Key | None) -> Sequence[Entry]:
    """The entries about ``key``, None: all entries; without those that an operator chose."""
    wanted_so = {"paused"} if key is not None else {"paused", "dropped"}
    return [e for e in entries if e.state not in wanted_so and key in (None, (e.kind, e.uuid))]


def _time(since: float | None) -> str:
    return "" if since is None else datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds")
