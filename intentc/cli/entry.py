"""The ``intentc`` script: lists the commands, imports the called one without the others, and ends with its exit code.

Why it exists: help must be quick, and ``intentc --config-file F`` alone must run the service, with any option of
``run`` after it. ``dev`` is in ``intentc/dev``, which no module imports: it is found by its name here.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import click

from .command_error import EXIT_HELP, Exit, explain, is_address_in_use, show
from .process_edges import heed, leave_hanging_threads, write_wholly

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

_ELSEWHERE = {
    "adopt": ("intentc.cli.commands.release", "adopt_command"),
    "dev": ("intentc.dev.command", "command"),
    "resume": ("intentc.cli.commands.pause", "resume_command"),
}
"""Commands that are not ``command`` in the module of their name in ``cli/commands``."""
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
            heed()
        own = (f"intentc.cli.commands.{name.replace('-', '_')}", "command")
        module, command = _ELSEWHERE.get(name, own)
        return cast(click.Command, getattr(importlib.import_module(module), command))

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


_SERVERS = frozenset({"run", "dev", "apiserver", "xds", "appgw", "kubernetes"})
_AFTER_DEV = "no configuration is given here: if `intentc dev` runs, use the `export` line that it printed"


def _show_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from .version import version_line

        click.echo(version_line())
        ctx.exit()


@click.group(
    cls=LazyGroup,
    epilog=EXIT_HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(CONFIG_FILE_OPTION, type=click.Path(dir_okay=False), help="Configuration, before or after the command.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show version and commit.",
)
def intentc(config_file: str | None) -> None:
    """An event-driven intent compiler over etcd.

    Compiles the resources that users declare into lower-level ones, and keeps those up to date through an API server.
    Without a command,
    `intentc --config-file FILE` runs the service. INTENTC_CONFIG_FILE also names the file.
    """


def run(args: Sequence[str]) -> int:
    """Run one command line and return its exit code. Data goes to stdout, everything else to stderr."""
    try:
        code = intentc.main(list(args), prog_name="intentc", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return Exit.USAGE
    except (Exception, KeyboardInterrupt) as error:
        failure = explain(error)
        if isinstance(error, click.UsageError) and error.ctx is None:
            # The option parser does not name the command.
            command = next((f" {one}" for one in args if one in COMMANDS), "")
            failure.where = f"intentc{command}"
            failure.next_step = f"`intentc{command} --help` shows how"
        if failure.code is Exit.UNREACHABLE and not _configured(args, os.environ):
            failure.next_step = f"{_AFTER_DEV}; otherwise {failure.next_step}" if failure.next_step else _AFTER_DEV
        if is_address_in_use(error) and COMMANDS.keys().isdisjoint(args):
            help_hint = "or did you want `intentc --help`?"
            failure.next_step = f"{failure.next_step}; {help_hint}" if failure.next_step else help_hint
        show(failure)
        return failure.code
    return code if isinstance(code, int) else Exit.DONE


def _configured(args: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether something configures the servers' addresses, or the command starts a server itself."""
    named = any(argument.split("=")[0] == CONFIG_FILE_OPTION for argument in args)
    return named or any(name.startswith("INTENTC_") for name in environment) or not _SERVERS.isdisjoint(args)


def main() -> None:
    """The ``intentc`` script."""
    write_wholly()
    code = run(sys.argv[1:])
    # Without threads nothing can hang, and the import is saved.
    if "threading" in sys.modules:
        leave_hanging_threads(code)
    sys.exit(code)
