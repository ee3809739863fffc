"""``intentc status``: shows whether the running compiler has converged, whether it is healthy, and what it waits for.

It prints a dozen lines of the running compiler's ``/status``; with ``--watch`` on a terminal live, with the progress
of a first load.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import click
import msgspec

from intentc.loading.configuration import Loaded
from intentc.loading.configuration.sections import Diagnostics

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..diagnostics_client import current_status
from ..output import moment, print_document, span

if TYPE_CHECKING:
    from rich.console import RenderableType


_PERIOD = 1.0
"""Seconds between two queries of ``--watch``."""
_ALWAYS_CHANGING = frozenset({"rates", "busy_seconds"})
"""Fields whose changes alone print no new line."""


@click.command(name="status")
@click.option(
    "--watch", is_flag=True, help="Repeat once a second; without a terminal, one line of JSON for each change."
)
@output_option
@configured()
async def command(watch: bool, output: str, loaded: Loaded) -> int:
    """Show whether the running compiler has converged and is healthy, its problems, and what it waits for.

    Converged: nothing is left to do for the inputs that it knows. Healthy: nothing is held (a pause counts as
    held), rejected, contended or deferred, no mass deletion waits for approval, no restored store is being
    examined, and etcd accepts writes. Both are unknown while etcd or the API server does not answer. Problems:
    faults in resources, and what is held (unless paused), rejected, contended or deferred; `intentc show problems`
    lists them. The revision is that of the last change of a resource; audits and plans may name later ones, since
    other keys of etcd count, too.
    Exit code 5 if it is not healthy or that is unknown, 6 if it is and there are problems, 4 if it can't be
    reached.
    """
    diagnostics = loaded.configuration.intentc.diagnostics
    # A compiler that never answered is an error; one that stopped answering may come back.
    status = await current_status(diagnostics)
    if watch:
        await _watch(output, status, diagnostics)
    content = selected(status)
    if output == "table":
        for name, text in status_lines(content):
            click.echo(f"{name:<11} {text}")
    else:
        print_document(output, content, (), ())
    return verdict(status)


async def _watch(output: str, status: Mapping[str, Any], diagnostics: Diagnostics) -> NoReturn:
    content = selected(status)
    live = output == "table" and sys.stdout.isatty()
    with display() if live else nullcontext(_JsonLines().show) as show:
        while True:
            show(content)
            await anyio.sleep(_PERIOD)
            try:
                content = selected(await current_status(diagnostics))
            except CommandError as error:
                content = {"error": error.what}


class _JsonLines:
    """Prints one line of JSON for each change."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def show(self, content: Mapping[str, Any]) -> None:
        """Print ``content``, unless nothing changed."""
        news = {name: value for name, value in content.items() if name not in _ALWAYS_CHANGING}
        if news != self._last:
            self._last = news
            click.echo(msgspec.json.encode(content))
            sys.stdout.flush()


UNKNOWN = "unknown"

_SELECTED = (
    "converged",
    "healthy",
    "unknown_since",
    "role",
    "applied_revision",
    "lag_revisions",
    "queue",
    "rates",
    "counts",
    "pending_references",
    "pending_work",
    "attention",
    "progress",
    "audit",
    "reload",
    "busy_seconds",
)


def selected(status: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of ``/status`` that ``intentc status`` shows. ``problems``: their number. ``quarantined``: how many
    intents and objects are in quarantine; ``leader``: the process that leads."""
    content = {name: status[name] for name in _SELECTED if name in status}
    leading = status.get("leading") or {}
    content["leader"], content["leader_address"] = leading.get("leader"), leading.get("leader_address")
    content["problems"] = problems(status)
    content["quarantined"] = status.get("counts", {}).get("quarantined", len(status.get("quarantine", ())))
    return content


def verdict(status: Mapping[str, Any]) -> int:
    """The exit code. What is unknown is not healthy."""
    if not status.get("healthy"):
        return Exit.HELD
    return Exit.PROBLEMS if problems(status) else Exit.DONE


def problems(status: Mapping[str, Any]) -> int:
    """The number of problems."""
    return int(status.get("counts", {}).get("problems", 0))


def status_lines(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The content of ``selected`` as (name, text) for people."""
    if "error" in content:
        yield "not there", content["error"]
        return
    yield "converged", _converged(content)
    yield "healthy", _unknown(content, "healthy") or ("yes" if content.get("healthy") else "no")
    found = content.get("problems", 0)
    yield "problems", f"{found:,}: `intentc show problems`" if found else "none"
    leader = content.get("leader")
    role = str(content.get("role", "unknown"))
    address = f" ({there})" if (there := content.get("leader_address")) else ""
    yield "role", f"{role}; {leader} leads{address}" if role != "leader" and leader else role
    lag = content.get("lag_revisions")
    behind = "unknown yet" if lag is None else f"{lag:,} behind etcd"
    yield "revision", f"{content.get('applied_revision', 0)} applied, {behind}"
    queue = content.get("queue", {})
    yield (
        "queue",
        ", ".join(
            f"{queue.get(name, 0):,} {words}"
            for name, words in (("jobs", "to evaluate"), ("objects", "to plan"), ("in_flight", "being written"))
        ),
    )
    rates = content.get("rates", {})
    yield "rates", f"{rates.get('evaluations', 0):g} evaluations/s, {rates.get('writes', 0):g} writes/s"
    planned = (content.get("counts") or {}).get("planned", 0)
    if role == "observer":
        yield (
            "would write",
            f"{planned:,} object{'' if planned == 1 else 's'}: `intentc show planned`" if planned else "nothing",
        )
    yield "quarantine", f"{content['quarantined']:,}"
    pending = content.get("pending_references", 0)
    yield "references", f"{pending:,} pending{': the target does not exist' if pending else ''}"
    yield "last audit", _audited(content.get("audit"), role)
    if (content.get("reload") or {}).get("last_error"):
        yield "reload", "rejected, the former stays in force"
    if progress := content.get("progress"):
        of = f"{progress['done']:,} of {progress['total']:,}" if progress["total"] else ""
        yield "first load", f"{progress['phase']} {of}".rstrip()
    yield from _listed("waits for", content.get("pending_work", ()))
    yield from _listed("needs you", content.get("attention", ()))


def _converged(content: Mapping[str, Any]) -> str:
    if unknown := _unknown(content, "converged"):
        return unknown
    return "yes" if content.get("converged") else f"no, for {span(content.get('busy_seconds', 0.0))}"


def _unknown(content: Mapping[str, Any], verdict: str) -> str:
    """The text of a verdict that is unknown; empty if it is known."""
    since = content.get("unknown_since")
    return f"{UNKNOWN} since {moment(since)}" if since is not None and content.get(verdict) is None else ""


def _audited(figures: Mapping[str, Any] | None, role: str) -> str:
    if figures is None:
        return "`dev` makes none; `intentc audit` makes one now"
    result = figures["last_result"]
    if result == "never":
        if figures.get("period", 1.0) == 0:
            return "none by itself, intentc.audit.period is 0; `intentc audit` makes one now"
        if role == "observer":
            return "one that observes makes none; `intentc audit` makes one now"
        return "audits are the leader's; ask it" if role == "standby" else "never yet"
    ago = f"judged {span(time.time() - figures['last_success'])} ago" if figures["last_success"] else ""
    if result == "failed":
        before = f"; the last one of revision {figures['last_revision']} was {ago}" if ago else ""
        return f"failed: {figures.get('last_error') or 'see its log'}{before}"
    return f"{result}, at revision {figures['last_revision']}" + (f", {ago}" if ago else "")


def _listed(name: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts or ("nothing",)):
        yield (name if not number else ""), text


_WIDTH = 40


@contextmanager
def display() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that shows a status (``status_text.selected``) in place of the one before."""
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        yield lambda content: live.update(rendered(content), refresh=True)


def rendered(content: Mapping[str, Any]) -> RenderableType:
    """The lines of a status, with a bar during the first load."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    for name, text in status_lines(content):
        shown = Text(text)
        if name in ("converged", "healthy"):
            shown.stylize("green" if text == "yes" else "yellow" if text.startswith(UNKNOWN) else "bold red")
        elif name == "problems" and text != "none":
            shown.stylize("yellow")
        rows.add_row(name, shown)
    progress = content.get("progress")
    if not progress:
        return rows
    return Group(rows, bar(progress))


def bar(progress: Mapping[str, Any]) -> RenderableType:
    """One line: the phase of a first load, and its progress."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 2))
    line.add_row(
        Text(str(progress["phase"])),
        ProgressBar(total=progress["total"], completed=progress["done"], width=_WIDTH, pulse=not progress["total"]),
        Text(f"{progress['done']:,} of {progress['total']:,}" if progress["total"] else ""),
    )
    return line
