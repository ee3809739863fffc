"""``intentc show``: the views of the running compiler, as tables and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from anyio.from_thread import start_blocking_portal

from intentc.cli.command_error import Exit
from intentc.cli.commands.show import cell
from intentc.diagnostics.serving import running_diagnostics
from intentc.loading.yaml import load_yaml
from tests.unit.cli.running import Intentc
from tests.unit.diagnostics.answered import Answered, ObservedCompiler

NOBODY = "127.0.0.1:1"
ROWS: list[dict[str, Any]] = [
    {"number": number, "to": [{"service": f"s{number}", "percent": 90}, {"service": "x", "percent": 10}], "tls": False}
    for number in range(1200)
]


class Routes(Answered):
    """A ``Reader`` that notes what it was asked for."""

    views: ClassVar = {"routes": {"description": "which requests go where", "columns": ["number", "to", "tls"]}}

    stored = ROWS

    async def rows(self, view: str, wanted: Callable[[dict[str, Any]], bool], /) -> list[dict[str, Any]]:
        return [row for row in self.stored if wanted(row)]


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A compiler that can be asked, where commands ask."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=Routes())
        ) as url,
    ):
        monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", url.removeprefix("http://"))
        yield


@pytest.mark.usefixtures("compiler")
def test_without_a_view_it_shows_which_there_are(intentc: Intentc) -> None:
    assert intentc("show").out == "NAME    DESCRIPTION\nroutes  which requests go where\n"


@pytest.mark.usefixtures("compiler")
def test_an_empty_table_says_so_on_stderr(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = intentc("show", "routes", "--filter", "nowhere")
    assert (ended.code, ended.out, ended.err) == (0, "", "no routes with 'nowhere'\n")
    assert intentc("show", "routes", "--filter", "nowhere", "-o", "json").err == ""
    monkeypatch.setattr(Routes, "stored", [])
    assert intentc("show", "routes").err == "no routes\n"


@pytest.mark.usefixtures("compiler")
def test_a_view_is_a_table_with_its_columns(intentc: Intentc) -> None:
    ended = intentc("show", "routes", "--filter", "s7", "--limit", "1")
    assert ended.out == "NUMBER  TO           TLS\n7       s7 90, x 10  no\n"
    assert ended.err == "showing 1 of 111 rows; --limit shows more, --filter selects\n"


@pytest.mark.usefixtures("compiler")
def test_more_rows_than_one_page_holds_are_asked_for_page_by_page(intentc: Intentc) -> None:
    ended = intentc("show", "routes", "--limit", "1100", "-o", "json")
    found = json.loads(ended.out)
    assert (found["apiVersion"], found["view"], found["total"]) == ("intentc/v1", "routes", 1200)
    assert [row["number"] for row in found["rows"]] == list(range(1100))


@pytest.mark.usefixtures("compiler")
def test_showing_all_rows_prints_no_note(intentc: Intentc) -> None:
    ended = intentc("show", "routes", "--limit", "5000")
    assert (len(ended.out.splitlines()), ended.err) == (1201, "")


@pytest.mark.usefixtures("compiler")
def test_it_is_the_same_for_programs_as_yaml(intentc: Intentc) -> None:
    found = load_yaml(intentc("show", "routes", "--limit", "1", "-o", "yaml").out).value
    assert found["rows"] == ROWS[:1]


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", ["route", "../status", "ro/utes"])
def test_an_unknown_view_is_a_usage_error(intentc: Intentc, name: str) -> None:
    ended = intentc("show", name)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert ended.err.startswith("error: ")


@pytest.mark.usefixtures("compiler")
def test_a_misspelt_view_gets_those_that_there_are(intentc: Intentc) -> None:
    assert intentc("show", "route").err.startswith("error: there is no view 'route'; there are routes\n")


def test_it_needs_a_compiler(intentc: Intentc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", NOBODY)
    assert intentc("show", "routes").code == Exit.UNREACHABLE


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("", "-"),
        ([], "-"),
        (0, "0"),
        (True, "yes"),
        (["a", "b"], "a, b"),
        ([{"kind": "host", "name": "a:b", "field": ""}], "host a:b"),
    ],
)
def test_a_cell_is_never_empty(value: Any, shown: str) -> None:
    assert cell(value) == shown
