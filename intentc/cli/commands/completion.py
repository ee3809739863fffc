"""``intentc completion``: prints the script that makes a shell complete intentc's command lines.

Why it exists: click prints its script through an environment variable; a command is easier to find. The group
(``entry``) and the types of options and arguments complete the words.
"""

from __future__ import annotations

import click

from ..command_error import Exit

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_INTENTC_COMPLETE"
"""The variable through which the script calls the program; click derives it from the program's name."""


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(intentc completion bash)"               in ~/.bashrc (bash 4.4 or newer)
    zsh:   eval "$(intentc completion zsh)"                in ~/.zshrc, after compinit
    fish:  intentc completion fish > ~/.config/fish/completions/intentc.fish
    """
    from click.shell_completion import get_completion_class

    from ..entry import intentc

    script = get_completion_class(shell)
    assert script is not None, shell
    click.echo(script(intentc, {}, "intentc", VARIABLE).source())
    return Exit.DONE
