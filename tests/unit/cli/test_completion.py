"""Shell completion: ``intentc completion`` prints click's script, and the program answers what the script asks."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.shell_completion import get_completion_class

from intentc.cli.command_error import Exit
from intentc.cli.commands.completion import SHELLS, VARIABLE
from intentc.cli.entry import COMMANDS
from intentc.cli.entry import intentc as group
from tests.unit.cli.running import Intentc


def offered(*words: str) -> list[str]:
    """What bash offers in place of the last word."""
    complete = get_completion_class("bash")
    assert complete is not None
    items = complete(group, {}, "intentc", VARIABLE).get_completions(list(words[:-1]), words[-1])
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in items]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_asks_intentc(intentc: Intentc, shell: str) -> None:
    ended = intentc("completion", shell)
    assert ended.code == Exit.DONE
    assert f"{VARIABLE}={shell}_complete" in ended.out


def test_another_shell_is_rejected_with_those_that_there_are(intentc: Intentc) -> None:
    ended = intentc("completion", "tcsh")
    assert ended.code == Exit.USAGE
    assert "'bash', 'zsh', 'fish'" in ended.err


def test_the_program_offers_all_commands_and_loads_none() -> None:
    script = (
        f"import os, sys; os.environ.update({VARIABLE}='bash_complete', COMP_WORDS='intentc ', COMP_CWORD='1')\n"
        "from intentc.cli.entry import main\n"
        "try:\n    main()\nfinally:\n    assert 'intentc.cli.commands.apply' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [f"plain,{name}" for name in COMMANDS]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["st"], ["status"]),
        (["--config-file", "intentc.yml", "st"], ["status"]),
        (["--config-file", "intentc.yml", "status", "--wa"], ["--watch"]),
        (["--vers"], ["--version"]),
        (["unknown-command", ""], list(COMMANDS)),
        (["get", "-o", ""], ["table", "json", "yaml"]),
        (["quarantine", "re"], ["retry"]),
        (["apply", "sample/t"], ["<file>"]),
        (["dev", "--load", "sample/t"], ["<file>"]),
        (["completion", "f"], ["fish"]),
    ],
)
def test_words_are_completed(words: list[str], completed: list[str]) -> None:
    assert offered(*words) == completed


def test_a_configuration_in_the_environment_keeps_commands_on_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_CONFIG_FILE", "intentc.yml")
    assert offered("st") == ["status"]
