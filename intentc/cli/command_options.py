"""Defines the options that commands share, and loads the configuration before a command runs.

Why it exists: ``--config-file`` means the same before and after a command's name; ``-o`` prints the same shapes
everywhere. ``loading.configuration`` reads and checks the configuration, ``output`` prints. It sets up the logs as the
configuration says.
"""

from __future__ import annotations

import functools
import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from intentc.loading.certificates import expiring
from intentc.loading.configuration import Configuration, Loaded, load

from .entry import CONFIG_FILE_OPTION, CONFIG_FILE_VARIABLE
from .server_process import run_service

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_Function = TypeVar("_Function", bound=Callable[..., Any])
_LOG = logging.getLogger("intentc.loading.configuration")


def output_option_with(*further: str) -> Callable[[_Function], _Function]:
    """``-o`` with the forms of every command, and ``further`` ones."""
    forms = click.Choice(["table", "json", "yaml", *further])
    return click.option("-o", "--output", type=forms, default="table", show_default=True)


output_option = output_option_with()


def waiting_options(text: str, seconds: float, *, flag: str = "--wait") -> Callable[[_Function], _Function]:
    """``--wait`` (with ``text``) and ``--timeout``: the command gets ``timeout``, None if it is not to wait.
    ``flag``: the form of ``--wait``; a flag that can be negated is set by default."""

    def decorate(function: _Function) -> _Function:
        negatable = "/" in flag

        @click.option("--timeout", type=float, default=seconds, show_default=True, help="Maximum seconds to wait.")
        @functools.wraps(function)
        def wrapped(*args: Any, wait: bool, timeout: float, **kwargs: Any) -> Any:
            return function(*args, timeout=timeout if wait else None, **kwargs)

        return click.option(flag, is_flag=True, default=negatable, show_default=negatable, help=text)(wrapped)  # type: ignore[return-value]

    return decorate


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


def configured(
    *, service: bool = False, compiles: bool = False, compilers: bool = False
) -> Callable[[_Function], _Function]:
    """Add ``--config-file`` to a command and call it with ``loaded``, the configuration; a coroutine runs to its end.

    ``service``: the command logs at the configured level, the configuration's notes first; others log warnings only.
    ``compiles``: a coroutine runs as the service does (``run_service``). ``compilers``: with ``--compiler``, which
    replaces those of the configuration. Without a file the defaults apply.
    """

    def decorate(function: _Function) -> _Function:
        @click.option(
            CONFIG_FILE_OPTION,
            type=click.Path(dir_okay=False),
            help=f"Configuration; also {CONFIG_FILE_VARIABLE}.",
        )
        @functools.wraps(function)
        def wrapped(*args: Any, config_file: str | None, **kwargs: Any) -> Any:
            loaded = load_configuration(config_file, service)
            if compilers:
                loaded = loaded._replace(configuration=with_compilers(loaded.configuration, kwargs.pop("compilers")))
            called = functools.partial(function, *args, loaded=loaded, **kwargs)
            if not inspect.iscoroutinefunction(function):
                return called()
            if compiles:
                return run_service(called)
            import anyio

            return anyio.run(called)

        return compilers_option(wrapped) if compilers else wrapped  # type: ignore[return-value]

    return decorate


def load_configuration(config_file: str | None, service: bool) -> Loaded:
    """Load the configuration named by the command's option, else the group's, else the environment, and set up logs as
    it says."""
    from intentc.diagnostics import logs

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
