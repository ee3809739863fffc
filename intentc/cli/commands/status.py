"""``intentc status``: shows whether the running compiler has converged, whether it is healthy, and what it waits for.

It prints a dozen lines of the running compiler's ``/status``. ``status_text`` selects and formats them,
``status_display`` shows them live.

It asks the diagnostics, and prints. State: with ``--watch``, where it prints lines of JSON, the last one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import click

from ..errors import CommandError
from ..options import configured, output_option
from ..status_text import lines, selected, verdict

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

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
def command(watch: bool, output: str, loaded: Loaded) -> int:
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
    return anyio.run(_watch if watch else _once, output, loaded)


async def _once(output: str, loaded: Loaded) -> int:
    from ..output import print_document
    from ..waiting import current_status

    status = await current_status(loaded.configuration.intentc.diagnostics)
    content = selected(status)
    if output == "table":
        for name, text in lines(content):
            click.echo(f"{name:<11} {text}")
    else:
        print_document(output, content, (), ())
    return verdict(status)


async def _watch(output: str, loaded: Loaded) -> int:
    from ..waiting import current_status

    diagnostics = loaded.configuration.intentc.diagnostics
    # A compiler that never answered is an error; one that stopped answering may come back.
    content = selected(await current_status(diagnostics))
    with _showing(live=output == "table" and sys.stdout.isatty()) as show:
        while True:
            show(content)
            await anyio.sleep(_PERIOD)
            try:
                content = selected(await current_status(diagnostics))
            except CommandError as error:
                content = {"error": error.what}


@contextmanager
def _showing(*, live: bool) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    if live:
        from ..status_display import display

        with display() as show:
            yield show
    else:
        yield _JsonLines().show


class _JsonLines:
    """Prints one line of JSON for each change."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def show(self, content: Mapping[str, Any]) -> None:
        """Print ``content``, unless nothing changed."""
        import msgspec

        news = {name: value for name, value in content.items() if name not in _ALWAYS_CHANGING}
        if news != self._last:
            self._last = news
            click.echo(msgspec.json.encode(content))
            sys.stdout.flush()
