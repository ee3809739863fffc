"""Log lines: one JSON object or one short line each, and no secret in either."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from intentc.diagnostics import logs


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def written(level: str, form: str, *secrets: str, message: str = "applied", **extra: object) -> str:
    stream = io.StringIO()
    logs.set_up(level, form, secrets, stream)
    logging.getLogger("intentc.test").info("%s", message, extra=extra)
    return stream.getvalue()


def test_json_carries_the_extras() -> None:
    line = json.loads(written("info", "json", key="group/g1", revision=7))
    assert (line["level"], line["logger"], line["message"]) == ("info", "intentc.test", "applied")
    assert (line["key"], line["revision"]) == ("group/g1", 7)
    assert line["time"].endswith("Z")


def test_plain_lines_carry_the_extras() -> None:
    assert written("info", "text", revision=7).endswith("INFO    applied  revision=7\n")


def test_without_a_terminal_auto_means_json() -> None:
    assert json.loads(written("info", "auto"))["message"] == "applied"


@pytest.mark.parametrize("level", ["warn", "warning", "error", "fatal", "panic"])
def test_contrails_levels_are_known(level: str) -> None:
    assert written(level, "json") == ""


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_secret_is_taken_out_wherever_it_stands(form: str) -> None:
    text = written("info", form, 'can"ary', "can", message='login with can"ary', password='can"ary')
    assert "ary" not in text
    assert logs.REDACTED in text


def test_a_secret_is_taken_out_of_a_traceback() -> None:
    stream = io.StringIO()
    logs.set_up("info", "json", ["canary"], stream)
    try:
        raise ValueError("refused: canary")
    except ValueError:
        logging.getLogger("intentc.test").exception("failed")
    assert "canary" not in stream.getvalue()
    assert "refused: <secret>" in json.loads(stream.getvalue())["exception"]
