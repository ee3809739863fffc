"""Log lines: one JSON object or one short line each, and no secret in either."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

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
    logs.set_up(level, form, lambda: frozenset(secrets), stream)
    logging.getLogger("intentc.test").info("%s", message, extra=extra)
    return stream.getvalue()


def test_json_carries_the_extras() -> None:
    line = json.loads(written("info", "json", key="group/g1", revision=7))
    assert (line["level"], line["logger"], line["message"]) == ("info", "intentc.test", "applied")
    assert (line["key"], line["revision"]) == ("group/g1", 7)
    assert line["time"].endswith("Z")


def test_plain_lines_carry_the_extras() -> None:
    assert written("info", "text", revision=7).endswith("INFO    applied  revision=7\n")


def test_plain_lines_name_their_resource_and_only_once() -> None:
    group: dict[str, Any] = {"key": "group/g1", "resource": "group p:web", "reaction_path": ["group p:web"]}
    group["revision"] = 7
    assert written("info", "text", **group).endswith("INFO    applied  (group p:web)  revision=7\n")
    assert written("info", "text", message="group p:web is held", **group).endswith("group p:web is held  revision=7\n")


def test_plain_lines_say_by_which_path_a_change_came() -> None:
    path = ["group p:db", "group p:web"]
    assert written("info", "text", reaction_path=path).endswith("applied  by group p:db → group p:web\n")


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
    logs.set_up("info", "json", lambda: frozenset(["canary"]), stream)
    try:
        raise ValueError("rejected: canary")
    except ValueError:
        logging.getLogger("intentc.test").exception("failed")
    assert "canary" not in stream.getvalue()
    assert "rejected: <secret>" in json.loads(stream.getvalue())["exception"]


def test_a_secret_that_is_rotated_is_taken_out_in_both_its_forms() -> None:
    stream, secrets = io.StringIO(), {"first-canary"}
    logs.set_up("info", "text", lambda: frozenset(secrets), stream)
    log = logging.getLogger("intentc.test")
    log.info("with first-canary and second-canary")
    secrets.add("second-canary")
    log.info("with first-canary and second-canary")
    first, second = stream.getvalue().splitlines()
    assert "second-canary" in first and "first-canary" not in first
    assert "canary" not in second


@pytest.mark.parametrize("secret", ["pass\nword", "p@ss/word?", 'it\'s "so"', "päss-wörd"])
def test_a_secret_is_removed_in_its_json_repr_and_url_forms(secret: str) -> None:
    for form in (json.dumps(secret), repr(secret), f"http://host/?p={quote(secret, safe='')}"):
        text = written("info", "text", secret, message=form)
        assert logs.REDACTED in text, form


def test_what_is_printed_is_redacted_as_the_logs_are() -> None:
    written("info", "text", "canary")
    assert logs.redacted("a canary") == "a <secret>"


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_name_of_any_length_makes_no_line_of_that_length(form: str) -> None:
    name = "n" * 1_400_000
    line = written("info", form, message=f"{name} is held", key=name, reaction_path=[name, name])
    assert len(line) < 30_000
    assert "more characters" in line
