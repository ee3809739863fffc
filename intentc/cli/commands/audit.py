"""``intentc audit``: compiles everything from scratch at one revision, and compares it with the stored objects.

It needs no running compiler, and does not disturb one. While a compiler is busy, it also shows that compiler's pending
writes. The service runs the same command in a process of its own (``service/audits/audit_process.py``).

``--beside-service`` lowers the process's priority, and a thread ends the process when its stdin closes.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import click
import msgspec

from intentc.loading.configuration import Configuration, Loaded
from intentc.watch.protocol import Compacted, FutureRevision

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..connecting import current_state, nothing_stored
from ..output import print_document

if TYPE_CHECKING:
    from intentc.offline.audit import Change, Difference, Report

_NICE = 10


@click.command(name="audit")
@output_option
@click.option("--revision", type=click.IntRange(min=1), help="Audit etcd at this revision; default: the current one.")
@click.option("--beside-service", is_flag=True, hidden=True, help="Lower the priority, and end when stdin is closed.")
@configured(compiles=True)
async def command(output: str, revision: int | None, beside_service: bool, loaded: Loaded) -> int:
    """Compile everything from scratch, and print each object that differs from the result.

    Nothing is written or allocated: a missing allocation shows as <POOL for NAME>. Values are never printed.
    Exit code 0 if nothing differs, 1 if something does, else 5 if some intents are held, or deletes withheld.
    """
    if beside_service:
        _run_in_background()
    report = await _audit(loaded.configuration, revision or 0)
    if not report.resources:
        raise nothing_stored(loaded.configuration.etcd.path, "compare")
    _print(output, report)
    if report.differences:
        return Exit.DIFFERENT
    return Exit.HELD if report.held or report.withheld else Exit.DONE


def _run_in_background() -> None:
    """Lower our priority, and end with the service: its end closes our standard input."""
    os.nice(_NICE)

    def watch() -> None:
        while os.read(0, 1):
            pass
        os._exit(Exit.INTERRUPTED)

    threading.Thread(target=watch, name="end with the service", daemon=True).start()


async def _audit(configuration: Configuration, revision: int) -> Report:
    from intentc.offline.audit import audit
    from intentc.planning import DeleteGuard
    from intentc.plugins import installed

    settings, limits = configuration.intentc, configuration.intentc.limits
    compilers = installed(configuration)
    try:
        async with current_state(configuration, compilers) as (store, read):
            return await audit(
                compilers,
                store,
                read,
                path=configuration.etcd.path,
                installation=settings.installation,
                settings=settings.settings,
                guard=DeleteGuard(limits.max_deletes, limits.max_deletes_percent / 100),
                revision=revision,
            )
    except (Compacted, FutureRevision) as error:
        raise CommandError(
            f"revision {revision} can't be read: {error}" if revision else str(error),
            where="etcd",
            next_step="give a revision that etcd still has, or omit --revision",
        ) from None


def _print(output: str, report: Report) -> None:
    rows = [(d.kind, d.name, _what(d), ", ".join(d.origins)) for d in report.differences]
    print_document(output, msgspec.to_builtins(report), ("kind", "name", "differs", "origins"), rows)
    if output == "table":
        click.echo(_summary(report), err=True)


def _what(difference: Difference) -> str:
    """Text such as ``update access_control_list_entries``; several writes in order."""
    return "; ".join(_shown(change) for change in difference.operations)


def _shown(change: Change) -> str:
    from intentc.offline.audit import WAIT

    if change.operation == WAIT:
        return f"waits for {', '.join(change.fields)}"
    return " ".join((change.operation, ",".join(change.fields))).rstrip()


def _summary(report: Report) -> str:
    count = len(report.differences)
    found = "no difference" if not count else f"{count} {'object differs' if count == 1 else 'objects differ'}"
    further = [
        f"{number} {text}"
        for number, text in (
            (report.held, "held"),
            (report.withheld, "deletes withheld"),
            (report.problems, "problems"),
        )
        if number
    ]
    counted = f"{report.owned} of {report.resources} resources are ours"
    return "; ".join([f"{found} at revision {report.revision}", counted, *further])
