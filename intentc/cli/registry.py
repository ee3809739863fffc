"""Lists the commands, completes their names, and imports the called one without the others.

Why it exists: help must be quick, and ``intentc --config-file F`` alone must run the service, with any option of
``run`` after it. Each command is ``command`` in ``cli/commands/<name>.py`` (``_`` in place of ``-``), and ``dev`` in
``intentc/dev/command.py``, which no module imports.

It imports the called command's module, for ``run`` and ``dev`` after ``hangups`` heeds SIGHUP, and reads environment
variables.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Mapping[str, str] = {
    "run": "Run the service: watch etcd, compile, write (the default).",
    "dev": "Try it: etcd, API server and compiler on this machine.",
    "apiserver": "Run the reference API server alone.",
    "xds": "Serve Envoy's elements to Envoys (aggregated discovery).",
    "appgw": "Publish to an Azure Application Gateway.",
    "kubernetes": "Mirror a cluster's resources into etcd.",
    "compile": "Compile the resources in files, without a server.",
    "plan": "Show what applying files would write; writes nothing.",
    "status": "Show whether the compiler has converged and is healthy.",
    "why": "Explain why an object exists, or why it does not.",
    "graph": "Draw the reaction map, or what is around an object.",
    "audit": "Compile everything from scratch, and show what differs.",
    "check": "Check configuration, schemas and reaction maps.",
    "apply": "Create or update the resources in files.",
    "get": "Show resources.",
    "show": "Show a compiler's summary tables (routes …), or problems.",
    "delete": "Delete the resources in files.",
    "pause": "Hold an intent, or stop writes to an object.",
    "resume": "End a pause.",
    "quarantine": "List what is held and why; retry it, or drop it.",
    "allow-deletes": "Approve a withheld deletion of many objects.",
    "release": "Remove intentc's ownership marks; deletes nothing.",
    "adopt": "Take back what `release` gave up.",
    "migrate": "Write resources stored in an older version anew.",
    "crds": "Print CustomResourceDefinitions of a compiler's kinds.",
    "etcd-roles": "Print the script that creates the roles in etcd.",
    "completion": "Print the completion script of a shell.",
}
"""Name → what it does, in the order of ``--help``."""

_MODULES = {"dev": "intentc.dev.command"}
"""Commands whose module is not in ``cli/commands``."""
DEFAULT = "run"
_RELOADED = ("run", "dev")
"""Commands that SIGHUP reloads and does not end, from before they are imported."""
CONFIG_FILE_OPTION = "--config-file"
CONFIG_FILE_VARIABLE = "INTENTC_CONFIG_FILE"


class LazyGroup(click.Group):
    """A group that imports a command when it is called, with ``run`` as the default."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        if name in _RELOADED:
            from .hangups import heed

            heed()
        module = _MODULES.get(name) or f"intentc.cli.commands.{name.replace('-', '_')}"
        return cast(click.Command, importlib.import_module(module).command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; commands are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the commands, without importing them, or the group's options."""
        from click.shell_completion import CompletionItem

        offered = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*offered, *click.Command.shell_complete(self, ctx, incomplete)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            # During completion a command may still follow.
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, with_default(args, bool(os.environ.get(CONFIG_FILE_VARIABLE))))


def with_default(args: list[str], configured: bool = False) -> list[str]:
    """``args`` with ``run`` inserted if they name no command: at the first option that is not the group's own, or at
    the end if a configuration is given (``configured``: by the environment)."""
    position = 0
    while position < len(args):
        argument = args[position]
        if argument == CONFIG_FILE_OPTION:
            configured, position = True, position + 2
        elif argument.startswith(f"{CONFIG_FILE_OPTION}="):
            configured, position = True, position + 1
        elif argument in ("-h", "--help", "--version"):
            return args
        elif argument.startswith("-"):
            return [*args[:position], DEFAULT, *args[position:]]
        else:
            return args
    return [*args, DEFAULT] if configured else args
