"""The ``intentc`` script: the group's own options, and how every command ends.

It replaces the process's standard streams, runs a command, and ends the process with its exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

import click

from .errors import EXIT_HELP, Exit, explain, is_address_in_use, show
from .registry import COMMANDS, CONFIG_FILE_OPTION, LazyGroup
from .streams import write_wholly

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
        from .leaving import leave_hanging_threads

        leave_hanging_threads(code)
    sys.exit(code)
