"""``intentc status``: two separate words, what is waited for, and exit codes that scripts can rely on."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from intentc.cli import diagnostics_client
from intentc.cli.command_error import CommandError, Exit
from intentc.cli.commands.status import rendered, selected
from intentc.cli.output import span
from intentc.loading.yaml import load_yaml
from tests.unit.cli.running import Intentc
from tests.unit.cli.toy_api_server import ToyApiServer


def status(**fields: Any) -> dict[str, Any]:
    return {
        "converged": True,
        "healthy": True,
        "role": "leader",
        "leading": {"leads": True, "leader": "host-1"},
        "applied_revision": 1200,
        "lag_revisions": 0,
        "queue": {"jobs": 0, "objects": 0, "in_flight": 0},
        "rates": {"evaluations": 12.5, "writes": 3.0},
        "counts": {"quarantined": 0},
        "pending_references": 0,
        "pending_work": [],
        "attention": [],
        "progress": None,
        "audit": {"last_result": "never", "last_revision": 0, "last_success": 0.0},
        "reload": {"reloads": 0, "failures": 0, "loaded_at": 0.0, "last_error": None, "under_way": False},
        "busy_seconds": 0.0,
        "problems": ["long lists are left out"],
        **fields,
    }


BUSY = status(
    converged=False,
    healthy=False,
    role="standby",
    leading={"leads": False, "leader": "host-2"},
    lag_revisions=1234,
    counts={"quarantined": 3},
    pending_work=["host-2, which leads", "the evaluation of 7 intents"],
    attention=["held: `intentc quarantine list`"],
    busy_seconds=150.0,
)


NOW = 1_767_225_600.0


def audited(result: str, **figures: Any) -> dict[str, Any]:
    return {"period": 3600.0, "last_revision": 0, "last_success": 0.0, "last_error": None, **figures} | {
        "last_result": result
    }


@pytest.fixture
def compiler(connected: ToyApiServer) -> ToyApiServer:
    connected.status = [status()]
    return connected


def table(out: str) -> dict[str, str]:
    return {line[:11].strip(): line[12:] for line in out.splitlines()}


def test_status_of_a_healthy_compiler_is_short_and_ends_with_0(intentc: Intentc, compiler: ToyApiServer) -> None:
    ended = intentc("status")
    shown = table(ended.out)
    assert ended.code == Exit.DONE
    assert (shown["converged"], shown["healthy"], shown["role"]) == ("yes", "yes", "leader")
    assert shown["revision"] == "1200 applied, 0 behind etcd"
    assert shown["rates"] == "12.5 evaluations/s, 3 writes/s"
    assert (shown["waits for"], shown["needs you"]) == ("nothing", "nothing")


def test_status_of_an_unhealthy_compiler_says_what_it_waits_for_and_needs(
    intentc: Intentc, compiler: ToyApiServer
) -> None:
    compiler.status = [BUSY]
    ended = intentc("status")
    shown = table(ended.out)
    assert ended.code == Exit.HELD
    assert (shown["converged"], shown["healthy"]) == ("no, for 2 min", "no")
    assert shown["role"] == "standby; host-2 leads"
    assert shown["revision"] == "1200 applied, 1,234 behind etcd"
    assert shown["quarantine"] == "3"
    assert "waits for   host-2, which leads\n            the evaluation of 7 intents\n" in ended.out
    assert shown["needs you"] == "held: `intentc quarantine list`"


def test_status_without_etcd_does_not_know_whether_it_has_converged(
    intentc: Intentc, compiler: ToyApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.cli.commands.status.time.time", lambda: NOW)
    unseen = {"converged": None, "pending_work": ["etcd, no watch since 12:00:00 UTC"]}
    compiler.status = [status(healthy=None, unknown_since=NOW - 60, **unseen)]
    ended = intentc("status")
    shown = table(ended.out)
    assert (shown["converged"], shown["healthy"]) == ("unknown since 23:59:00 UTC", "unknown since 23:59:00 UTC")
    assert ended.code == Exit.HELD
    compiler.status = [status(healthy=False, unknown_since=NOW - 100_000, **unseen)]
    shown = table(intentc("status").out)
    assert (shown["converged"], shown["healthy"]) == ("unknown since 2025-12-30 20:13:20 UTC", "no")


def test_an_observer_says_what_it_would_write(intentc: Intentc, compiler: ToyApiServer) -> None:
    compiler.status = [status(role="observer", counts={"planned": 1200})]
    assert table(intentc("status").out)["would write"] == "1,200 objects: `intentc show planned`"
    compiler.status = [status(role="observer")]
    assert table(intentc("status").out)["would write"] == "nothing"
    compiler.status = [status(role="leader", counts={"planned": 3})]
    assert "would write" not in table(intentc("status").out)


def test_a_standby_names_the_address_of_the_leader(intentc: Intentc, compiler: ToyApiServer) -> None:
    leading = {"leads": False, "leader": "host-2", "leader_address": "http://host-2:8877"}
    compiler.status = [status(role="standby", leading=leading)]
    assert table(intentc("status").out)["role"] == "standby; host-2 leads (http://host-2:8877)"


def test_problems_are_a_third_word_with_an_exit_code_of_their_own(intentc: Intentc, compiler: ToyApiServer) -> None:
    assert table(intentc("status").out)["problems"] == "none"
    compiler.status = [status(counts={"quarantined": 0, "problems": 1200})]
    ended = intentc("status")
    assert ended.code == Exit.PROBLEMS
    assert table(ended.out)["problems"] == "1,200: `intentc show problems`"
    assert json.loads(intentc("status", "-o", "json").out)["problems"] == 1200
    compiler.status = [status(healthy=False, counts={"quarantined": 1, "problems": 1})]
    assert intentc("status").code == Exit.HELD, "what is held weighs more"


def test_the_exit_codes_are_documented(intentc: Intentc) -> None:
    assert "Exit code 5 if it is not healthy or that is unknown, 6 if it is and there are problems" in " ".join(
        intentc("status", "--help").out.split()
    )
    assert "6    healthy, but the input has problems" in intentc("--help").out


def test_one_that_works_is_no_failure(intentc: Intentc, compiler: ToyApiServer) -> None:
    compiler.status = [{**BUSY, "healthy": True}]
    assert intentc("status").code == Exit.DONE


def test_nobody_there_ends_with_4(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", "127.0.0.1:1")
    ended = intentc("status")
    assert ended.code == Exit.UNREACHABLE
    assert "next:" in ended.err


def test_without_a_configuration_the_line_that_dev_printed_is_named(
    intentc: Intentc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def nobody(where: Any) -> Any:
        raise CommandError("the compiler does not answer", next_step="start it", code=Exit.UNREACHABLE)

    monkeypatch.setattr("intentc.cli.commands.status.current_status", nobody)
    for name in [name for name in os.environ if name.startswith("INTENTC_")]:
        monkeypatch.delenv(name)
    assert "  next:  no configuration is given here: if `intentc dev` runs, use the `export`" in intentc("status").err
    file = tmp_path / "contrail.yml"
    file.write_text("{}\n")
    assert "  next:  start it\n" in intentc("status", "--config-file", file).err
    monkeypatch.setenv("INTENTC_CONFIG_FILE", str(file))
    assert "  next:  start it\n" in intentc("status").err


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", lambda text: load_yaml(text).value)])
def test_programs_get_the_same_without_the_long_lists(
    intentc: Intentc, compiler: ToyApiServer, form: str, read: Any
) -> None:
    compiler.status = [BUSY]
    document = read(intentc("status", "-o", form).out)
    assert document["apiVersion"] == "intentc/v1"
    assert (document["converged"], document["healthy"], document["leader"]) == (False, False, "host-2")
    assert document["pending_work"] == BUSY["pending_work"]
    assert document["problems"] == 0, "their number, and not the list"


def test_a_rejected_reload_is_shown(intentc: Intentc, compiler: ToyApiServer) -> None:
    compiler.status = [status(reload={"last_error": "map.yml:3: unknown kind 'x'"})]
    assert table(intentc("status").out)["reload"] == "rejected, the former stays in force"


def test_the_first_load_is_shown(intentc: Intentc, compiler: ToyApiServer) -> None:
    compiler.status = [status(progress={"phase": "evaluating", "done": 1500, "total": 10_000})]
    assert table(intentc("status").out)["first load"] == "evaluating 1,500 of 10,000"


@pytest.mark.parametrize(
    ("role", "audit", "text"),
    [
        ("leader", None, "`dev` makes none; `intentc audit` makes one now"),
        ("leader", audited("never"), "never yet"),
        ("standby", audited("never"), "audits are the leader's; ask it"),
        ("observer", audited("never"), "one that observes makes none; `intentc audit` makes one now"),
        (
            "leader",
            audited("never", period=0.0),
            "none by itself, intentc.audit.period is 0; `intentc audit` makes one now",
        ),
        ("leader", audited("equal", last_revision=57, last_success=NOW - 11), "equal, at revision 57, judged 11 s ago"),
        ("leader", audited("failed", last_error="f.yml:4: no kind x"), "failed: f.yml:4: no kind x"),
        (
            "leader",
            audited("failed", last_error="no etcd", last_revision=57, last_success=NOW - 11),
            "failed: no etcd; the last one of revision 57 was judged 11 s ago",
        ),
    ],
)
def test_the_last_audit_is_reported(
    intentc: Intentc, compiler: ToyApiServer, monkeypatch: pytest.MonkeyPatch, role: str, audit: Any, text: str
) -> None:
    monkeypatch.setattr("intentc.cli.commands.status.time.time", lambda: NOW)
    compiler.status = [status(audit=audit, role=role)]
    assert table(intentc("status").out)["last audit"] == text


def test_an_older_compiler_is_understood_as_far_as_it_reports(intentc: Intentc, compiler: ToyApiServer) -> None:
    compiler.status = [{"converged": True, "healthy": True, "applied_revision": 7, "quarantine": [{}, {}]}]
    shown = table(intentc("status").out)
    assert (shown["role"], shown["revision"], shown["quarantine"]) == ("unknown", "7 applied, unknown yet", "2")


def test_watched_without_a_terminal_it_is_one_line_of_json_for_each_change(
    intentc: Intentc, compiler: ToyApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.cli.commands.status._PERIOD", 0.0)
    compiler.status = [status(), status(rates={"evaluations": 1.0, "writes": 0.0}), status(), BUSY, status()]
    answers = len(compiler.status)
    current = diagnostics_client.current_status

    async def until_the_last(where: Any) -> dict[str, Any]:
        nonlocal answers
        answers -= 1
        if answers < 0:
            raise KeyboardInterrupt
        return await current(where)

    monkeypatch.setattr("intentc.cli.commands.status.current_status", until_the_last)
    ended = intentc("status", "--watch")
    assert ended.code == Exit.INTERRUPTED
    assert [json.loads(line)["converged"] for line in ended.out.splitlines()] == [True, False, True]


def test_the_display_shows_the_same_words_and_a_bar_while_it_loads() -> None:
    out = io.StringIO()
    progress = {"phase": "evaluating", "done": 1500, "total": 10_000}
    Console(file=out, width=100).print(rendered(selected(status(converged=False, progress=progress))))
    text = out.getvalue()
    assert "no, for 0 s" in text
    assert "evaluating" in text.splitlines()[-1]
    assert "━" in text.splitlines()[-1]


def test_a_compiler_that_answers_no_more_is_said_in_the_display() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(rendered({"error": "the compiler does not answer"}))
    assert out.getvalue().split() == ["not", "there", "the", "compiler", "does", "not", "answer"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119.0, "119 s"), (120.0, "2 min"), (7200.0, "2 h"), (200_000.0, "2 d")]
)
def test_a_length_of_time_is_short(seconds: float, text: str) -> None:
    assert span(seconds) == text
