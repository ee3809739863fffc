"""``intentc status``: whether the running compiler has converged, whether it is healthy, and what it waits for.

It asks the compiler's diagnostics and says in a dozen lines what matters; ``/status`` has the rest. The figures are
the compiler's business, the live display ``status_display``'s.
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
from ..status_text import lines, told, verdict

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

_PERIOD = 1.0
"""Seconds between two questions of ``--watch``."""
_RESTLESS = frozenset({"rates", "busy_seconds"})
"""What always moves: by itself it is no news."""


@click.command(name="status")
@click.option(
    "--watch", is_flag=True, help="Go on, once a second; without a terminal one line of JSON for each change."
)
@output_option
@configured()
def command(watch: bool, output: str, loaded: Loaded) -> int:
    """Has the compiler converged, is it healthy, are there problems, what does it wait for? (asks the running compiler)

    Converged: nothing is left to do for the inputs that it knows. Healthy: nothing is held, refused, deferred or
    withheld, and etcd is not silent. Problems: what people must change in resources, compiled or not; `intentc show
    problems` lists them. The revision is that of the last change of a resource; other keys of etcd count, too, so that
    audits and plans name later ones. Exit code 5 if it is not healthy, 6 if it is and there are problems, 4 if it can't
    be reached.
    """
    return anyio.run(_watch if watch else _once, output, loaded)


async def _once(output: str, loaded: Loaded) -> int:
    from ..output import print_document
    from ..waiting import current_status

    status = await current_status(loaded.configuration.intentc.diagnostics)
    content = told(status)
    if output == "table":
        for name, text in lines(content):
            click.echo(f"{name:<11} {text}")
    else:
        print_document(output, content, (), ())
    return verdict(status)


async def _watch(output: str, loaded: Loaded) -> int:
    from ..waiting import current_status

    diagnostics = loaded.configuration.intentc.diagnostics
    # One that never answered is a mistake; one that answers no more is worth waiting for.
    content = told(await current_status(diagnostics))
    with _showing(live=output == "table" and sys.stdout.isatty()) as show:
        while True:
            show(content)
            await anyio.sleep(_PERIOD)
            try:
                content = told(await current_status(diagnostics))
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
    """One line for each change."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def show(self, content: Mapping[str, Any]) -> None:
        """Print it, unless nothing is new."""
        import msgspec

        news = {name: value for name, value in content.items() if name not in _RESTLESS}
        if news != self._last:
            self._last = news
            click.echo(msgspec.json.encode(content))
            sys.stdout.flush()
