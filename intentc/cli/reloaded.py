"""What a SIGHUP reads again, for the commands that serve: the same file, the same environment, the same adaptation.

Why apart: ``run`` and ``dev`` do it alike. What becomes of it is ``intentc.service.reload``'s business.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intentc.engine.engine import Engine
    from intentc.evaluation import Compiler
    from intentc.loading.configuration import Configuration, Loaded
    from intentc.service.reload import Reloader

_LOG = logging.getLogger("intentc.loading.configuration")


def reloading_of(
    engine: Engine,
    compilers: Iterable[Compiler],
    loaded: Loaded,
    *,
    adapted: Callable[[Configuration], Configuration] = lambda configuration: configuration,
    relog: bool = False,
) -> Reloader:
    """Reloads what ``loaded`` was read from. ``adapted``: what the command makes of a configuration. ``relog``: logs
    are set up anew, as the configuration says."""
    from intentc.loading.configuration import load
    from intentc.service.reload import Reloader

    def read() -> Loaded:
        again = load(loaded.file, os.environ)
        return again._replace(configuration=adapted(again.configuration))

    def on_read(again: Loaded) -> None:
        if relog:
            _log_as(again, loaded)

    return Reloader(engine, compilers, loaded, read, on_read)


def _log_as(again: Loaded, before: Loaded) -> None:
    from intentc.diagnostics import logs

    # What was secret at the start is in use until the end, and what was read now is none to show, either.
    logs.set_up(
        again.configuration.log_level,
        again.configuration.intentc.log.format,
        lambda: before.secrets() | again.secrets(),
    )
    for note in again.notes:
        if note.warning:
            _LOG.warning("%s", note.text)
