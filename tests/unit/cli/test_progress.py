"""The line of a terminal that says how far the load is."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

from intentc.cli.output import line, show_progress

pytestmark = pytest.mark.anyio

HALF: dict[str, Any] = {"phase": "evaluating", "done": 5000, "total": 10_000}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_phase_and_figures() -> None:
    assert line(HALF) == "evaluating " + "━" * 15 + "╌" * 15 + " 5,000 of 10,000"


def test_what_cannot_be_measured_has_no_bar() -> None:
    assert line({"phase": "connecting", "done": 0, "total": None}) == "connecting ..."


async def test_it_is_erased_at_the_end_and_before_each_line_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr("sys.stderr", out)
    monkeypatch.setattr("intentc.cli.output._PERIOD", 0.0)
    log = logging.StreamHandler(out)
    logging.getLogger().addHandler(log)

    answers: list[dict[str, Any] | None] = [HALF, HALF, None]

    def progress() -> dict[str, Any] | None:
        if len(answers) == 2:
            logging.getLogger("intentc").warning("something happened")
        return answers.pop(0)

    await show_progress(progress)
    logging.getLogger("intentc").warning("later")
    logging.getLogger().removeHandler(log)
    erase, shown = "\r\033[K", line(HALF)
    assert out.getvalue() == f"{erase}{shown}{erase}something happened\n{erase}{shown}{erase}later\n"


async def test_where_there_is_no_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    await show_progress(lambda: HALF)
    assert capsys.readouterr().err == ""
