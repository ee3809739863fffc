"""Reloads the configuration on SIGHUP, from the same file and environment, with the same adaptation.

Why apart: ``run`` and ``dev`` share it. ``intentc.service.reload`` puts the result into force.
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
    """A ``Reloader`` for the file of ``loaded``. ``adapted``: how the command changes a configuration. ``relog``: set
    up logs again from the configuration."""
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

    # Secrets from the start stay in use until the end; secrets of the new configuration must not show either.
    logs.set_up(
        again.configuration.log_level,
        again.configuration.intentc.log.format,
        lambda: before.secrets() | again.secrets(),
    )
    for note in again.notes:
        if note.warning:
            _LOG.warning("%s", note.text)
