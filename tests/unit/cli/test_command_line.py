"""The command line as such: quick help, the default command, exit codes, errors without tracebacks."""

from __future__ import annotations

import io
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from intentc.apiserver.errors import Busy, Malformed, OutcomeUnknown, StoreDenied
from intentc.apiserver.serving import AddressTaken
from intentc.cli import entry
from intentc.cli.command_error import CommandError, Exit, explain, show
from intentc.cli.entry import with_default
from intentc.dev.envoy_server import EnvoyNotStarted
from intentc.dev.etcd_server import EtcdNotStarted
from intentc.diagnostics.serving import AddressInUse
from intentc.model import InvalidInput
from intentc.reconcile.failures import Denied, Unavailable
from tests.unit.cli.running import Intentc

NOT_THERE = "check that it exists, and that this user may read it"
HEAVY = (
    "cryptography",
    "grpc",
    "httpx2",
    "networkx",
    "rich",
    "yaml",
    "starlette",
    "uvicorn",
    "prometheus_client",
    "msgspec",
    "anyio",
)


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from intentc.cli.entry import run; code = run(['--help']);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "[]\n")
    assert "apply" in ended.stdout


def test_compiling_gateways_without_tls_loads_no_cryptography() -> None:
    sample = Path(__file__).parents[3] / "sample" / "ambassador"
    arguments = [
        "compile",
        "--compiler",
        "ambassador",
        *(str(sample / f"{name}.yaml") for name in ("routes", "services")),
    ]
    script = (
        f"import sys; from intentc.cli.entry import run; code = run({arguments});"
        "print([name for name in ('cryptography',) if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == "[]"


def test_help_lists_every_command_and_exit_code(intentc: Intentc) -> None:
    out = intentc("--help").out
    for name in entry.COMMANDS:
        assert f"\n  {name} " in out
    for code in Exit:
        assert f"\n    {code.value} " in out


@pytest.mark.parametrize(
    "name", ["apiserver", "check", "apply", "get", "delete", "pause", "resume", "allow-deletes", "release"]
)
def test_every_command_answers_help(intentc: Intentc, name: str) -> None:
    ended = intentc(name, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "--config-file" in ended.out


def test_without_arguments_help_is_shown(intentc: Intentc) -> None:
    ended = intentc()
    assert ended.code == Exit.USAGE
    assert "Commands:" in ended.out


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["--config-file", "f"], ["--config-file", "f", "run"]),
        (["--config-file=f", "--observe"], ["--config-file=f", "run", "--observe"]),
        (["--observe"], ["run", "--observe"]),
        (["--config-file", "f", "check"], ["--config-file", "f", "check"]),
        (["check", "--config-file", "f"], ["check", "--config-file", "f"]),
        (["--help"], ["--help"]),
        (["--config-file", "f", "-h"], ["--config-file", "f", "-h"]),
        ([], []),
    ],
)
def test_run_is_the_default(given: list[str], meant: list[str]) -> None:
    assert with_default(given) == meant


def test_run_is_the_default_when_the_environment_names_the_file() -> None:
    assert with_default([], configured=True) == ["run"]


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["apply"], ["get", "project", "--nonsense"], ["get", "project", "-o", "xml"]],
)
def test_a_usage_error_takes_three_lines(intentc: Intentc, arguments: list[str]) -> None:
    ended = intentc(*arguments)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    what, where, following = ended.err.splitlines()
    assert what.startswith("error: ")
    assert where.startswith("  where: intentc")
    assert "--help" in following


def test_a_misspelt_command_gets_a_suggestion(intentc: Intentc) -> None:
    assert intentc("dve").err.startswith("error: there is no command 'dve'; did you mean dev?\n")


def test_a_command_that_resembles_none_gets_the_list(intentc: Intentc) -> None:
    assert "commands are run, dev, apiserver," in intentc("nonsense").err


def test_exit_codes_speak_of_commands_that_exist_and_of_held_intents(intentc: Intentc) -> None:
    out = intentc("--help").out
    named = re.search(r"something differs \((.*?)\)", out)
    assert named is not None
    assert {text.split()[0] for text in named[1].split(", ")} <= entry.COMMANDS.keys()
    assert "not healthy: something is held" in out


def test_what_dev_shall_load_is_read_before_anything_is_started(
    intentc: Intentc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.dev.etcd_server.find_binary", lambda: pytest.fail("etcd was started"))
    ended = intentc("dev", "--load", tmp_path / "none.yml")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.splitlines()[0] == "error: can't be read: No such file or directory"


@pytest.mark.parametrize(
    ("error", "following"),
    [
        (InvalidInput("bad", source="f:1"), "fix it there and run the command again"),
        (InvalidInput("bad"), ""),
        (
            InvalidInput("gone", source="f", reason="NotReadable"),
            NOT_THERE,
        ),
        (FileNotFoundError(2, "gone", "f"), NOT_THERE),
        (AddressTaken(98, "can't listen on h:1: in use; choose another server.address"), ""),
        (AddressInUse(98, "h:1 is in use; set intentc.diagnostics.address to another one"), ""),
        (EtcdNotStarted("no etcd found: install one"), ""),
        (
            StoreDenied("etcd rejects this API server: permission denied"),
            "correct etcd.username and etcd.password, or grant that user the API server's role: "
            "`intentc etcd-roles` prints the script that makes it",
        ),
    ],
)
def test_the_next_step_fits_the_failure(error: BaseException, following: str) -> None:
    assert explain(error).next_step == following


@pytest.mark.parametrize("kind", [AddressTaken, AddressInUse])
def test_an_address_in_use_is_reported_in_the_exceptions_own_words(kind: type[OSError]) -> None:
    printed = io.StringIO()
    show(explain(kind(98, "h:1 is in use; choose another")), printed)
    assert printed.getvalue() == "error: h:1 is in use; choose another\n"


@pytest.fixture
def taken() -> Iterator[str]:
    """An address of this machine at which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(("command", "hint"), [((), True), (("--observe",), True), (("run",), False)])
def test_a_service_that_was_perhaps_not_meant_says_how_to_get_help(
    intentc: Intentc, tmp_path: Path, taken: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], hint: bool
) -> None:
    configuration = tmp_path / "contrail.yml"
    configuration.write_text(f"intentc: {{diagnostics: {{address: '{taken}'}}}}")
    monkeypatch.setenv("INTENTC_CONFIG_FILE", str(configuration))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ended = intentc(*command)
    assert ended.code == Exit.INVALID
    assert taken in ended.err
    assert ("or did you want `intentc --help`?" in ended.err) is hint


@pytest.mark.parametrize("order", ["before", "after"])
def test_the_configuration_may_stand_before_or_after_the_command(intentc: Intentc, tmp_path: Path, order: str) -> None:
    path = tmp_path / "broken.yml"
    path.write_text("intentc:\n  nonsense: 1\n")
    option = ["--config-file", str(path)]
    ended = intentc(*option, "check") if order == "before" else intentc("check", *option)
    assert ended.code == Exit.INVALID
    assert f"where: {path}:2" in ended.err


def test_the_environment_may_name_the_configuration(
    intentc: Intentc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_CONFIG_FILE", str(tmp_path / "missing.yml"))
    ended = intentc("check")
    assert ended.code == Exit.INVALID
    assert "missing.yml" in ended.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("bad", source="f:1"), Exit.INVALID),
        (EtcdNotStarted("no etcd found"), Exit.UNREACHABLE),
        (EnvoyNotStarted("no envoy found"), Exit.UNREACHABLE),
        (Unavailable("no etcd"), Exit.UNREACHABLE),
        (Denied("who are you"), Exit.INVALID),
        (Busy("etcd can't be reached"), Exit.UNREACHABLE),
        (OutcomeUnknown("etcd did not answer"), Exit.UNREACHABLE),
        (StoreDenied("etcd rejects this API server"), Exit.INVALID),
        (Malformed("a value can't be read"), Exit.INVALID),
        (FileNotFoundError(2, "No such file", "f"), Exit.INVALID),
        (click.UsageError("bad option"), Exit.USAGE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (click.Abort(), Exit.INTERRUPTED),
        (ZeroDivisionError("oops"), Exit.INTERNAL),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [Unavailable("no etcd")])]), Exit.UNREACHABLE),
        (BaseExceptionGroup("tasks", [KeyboardInterrupt()]), Exit.INTERRUPTED),
    ],
)
def test_every_failure_has_its_exit_code(error: BaseException, code: Exit) -> None:
    assert explain(error).code is code


def test_an_internal_error_shows_no_traceback_but_its_place(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.cli.commands.check._findings", lambda configuration: 1 / 0)
    ended = intentc("check")
    assert ended.code == Exit.INTERNAL
    what, where, following = ended.err.splitlines()[-3:]
    assert what == "error: internal error: ZeroDivisionError: division by zero"
    assert "test_command_line.py" in where
    assert "INTENTC_TRACEBACK=1" in following
    assert "Traceback" not in ended.err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    error = CommandError("what", where="where", next_step="next")
    coloured, plain, piped = Terminal(), Terminal(), io.StringIO()
    show(error, coloured)
    show(error, piped)
    monkeypatch.setenv("NO_COLOR", "1")
    show(error, plain)
    assert "\033[" in coloured.getvalue()
    assert "\033[" not in plain.getvalue() + piped.getvalue()


def test_an_option_without_its_value_is_reported_with_its_command(intentc: Intentc) -> None:
    ended = intentc("check", "--schemas")
    assert ended.code == Exit.USAGE
    assert "where: intentc check\n" in ended.err
    assert "`intentc check --help` shows how" in ended.err
