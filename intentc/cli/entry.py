"""Where the ``intentc`` script begins: the group's own options, and how every command ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from .commands import CONFIG_FILE_OPTION, LazyGroup
from .errors import EXIT_HELP, Exit, explain, show


@click.group(
    cls=LazyGroup,
    epilog=EXIT_HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(CONFIG_FILE_OPTION, type=click.Path(dir_okay=False), help="Configuration, before or after the command.")
@click.version_option(package_name="intentc", message="%(prog)s %(version)s")
def intentc(config_file: str | None) -> None:
    """An event-driven intent compiler over etcd.

    Keeps the lower-level resources that follow from intents true, by writing them through an API server. Without a
    command, `intentc --config-file FILE` runs the service. INTENTC_CONFIG_FILE names the file, too.
    """


def run(args: Sequence[str]) -> int:
    """Run one command line; its exit code. Data goes to stdout, everything else to stderr."""
    try:
        code = intentc.main(list(args), prog_name="intentc", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return Exit.USAGE
    except (Exception, KeyboardInterrupt) as error:
        failure = explain(error)
        show(failure)
        return failure.code
    return code if isinstance(code, int) else Exit.DONE


def main() -> None:
    """The ``intentc`` script."""
    sys.exit(run(sys.argv[1:]))
