"""Defines the options that commands share, and loads the configuration before a command runs.

Why it exists: ``--config-file`` means the same before and after a command's name; ``-o`` prints the same shapes
everywhere. ``loading.configuration`` reads and checks the configuration, ``output`` prints. It sets up the logs as the
configuration says.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from .registry import CONFIG_FILE_OPTION, CONFIG_FILE_VARIABLE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from intentc.loading.configuration import Configuration, Loaded

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOG = logging.getLogger("intentc.loading.configuration")


def output_option_with(*further: str) -> Callable[[_Function], _Function]:
    """``-o`` with the forms of every command, and ``further`` ones."""
    forms = click.Choice(["table", "json", "yaml", *further])
    return click.option("-o", "--output", type=forms, default="table", show_default=True)


output_option = output_option_with()


def complete_files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Let the shell complete file names, for arguments that take file names among others."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


compilers_option = click.option(
    "--compiler",
    "compilers",
    multiple=True,
    help="Compiler to use; may be repeated; default: those in the configuration.",
)


def with_compilers(configuration: Configuration, compilers: tuple[str, ...]) -> Configuration:
    """``configuration`` with ``compilers`` in place of its own, unless that is empty."""
    if not compilers:
        return configuration
    own = msgspec.structs.replace(configuration.intentc, compilers=compilers)
    return msgspec.structs.replace(configuration, intentc=own)


def configured(*, service: bool = False) -> Callable[[_Function], _Function]:
    """Add ``--config-file`` to a command and call it with ``loaded``, the configuration.

    ``service``: the command logs at the configured level, the configuration's notes first; others log warnings only.
    Without a file the defaults apply.
    """

    def decorate(function: _Function) -> _Function:
        @click.option(
            CONFIG_FILE_OPTION,
            type=click.Path(dir_okay=False),
            help=f"Configuration; also {CONFIG_FILE_VARIABLE}.",
        )
        @functools.wraps(function)
        def wrapped(*args: Any, config_file: str | None, **kwargs: Any) -> Any:
            return function(*args, loaded=load_configuration(config_file, service=service), **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def load_configuration(config_file: str | None, *, service: bool) -> Loaded:
    """Load the configuration named by the command's option, else the group's, else the environment, and set up logs as
    it says."""
    from intentc.diagnostics import logs
    from intentc.loading.certificates import expiring
    from intentc.loading.configuration import load

    before = click.get_current_context().find_root().params.get("config_file")
    name = config_file or before or os.environ.get(CONFIG_FILE_VARIABLE)
    loaded = load(Path(name) if name else None, os.environ)
    configuration = loaded.configuration
    level = configuration.log_level if service else "warning"
    logs.set_up(level, configuration.intentc.log.format, loaded.secrets)
    for note in loaded.notes if service else ():
        _LOG.log(logging.WARNING if note.warning else logging.INFO, "%s", note.text)
    for _, text in expiring(configuration) if service else ():
        _LOG.warning("%s", text)
    return loaded
