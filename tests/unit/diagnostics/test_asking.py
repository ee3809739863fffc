"""The questions about single things, over a real socket: what is checked and rejected, how large answers may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from intentc.diagnostics.app import PATHS, QUESTIONS
from intentc.diagnostics.json_answers import MOST_BYTES, bounded, encoded
from intentc.diagnostics.questions import Comparison, JournalQuery, ObjectQuery, Unanswerable
from intentc.diagnostics.serving import running_diagnostics
from tests.support.waiting import PATIENCE
from tests.unit.diagnostics.answered import INGRESS, WEB, Answered, ObservedCompiler

pytestmark = pytest.mark.anyio

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "diagnostics.md"
OF_WEB = f"kind={WEB['kind']}&name={WEB['name']}"


class Asking:
    """A person who asks; ``answered`` answers."""

    def __init__(self, http: httpx2.AsyncClient, answered: Answered) -> None:
        self._http = http
        self.answered = answered

    async def __call__(self, path: str, method: str = "GET") -> httpx2.Response:
        return await self._http.request(method, path)

    async def error(self, path: str) -> tuple[int, dict[str, Any]]:
        answer = await self(path)
        return answer.status_code, answer.json()


@pytest.fixture
async def ask() -> AsyncIterator[Asking]:
    answered = Answered()
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answered) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False, base_url=url) as http,
    ):
        yield Asking(http, answered)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (f"/why?{OF_WEB}", "summary"),
        ("/objects", "rows"),
        (f"/object?{OF_WEB}", "differences"),
        (f"/neighbourhood?{OF_WEB}&depth=4&kinds=a,b", "nodes"),
        ("/reactions", "edges"),
        ("/journal", "lines"),
        ("/quarantine", "quarantine"),
        ("/pending", "pending_references"),
    ],
)
async def test_each_question_has_an_answer_as_json(ask: Asking, path: str, key: str) -> None:
    found = await ask(path)
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/json"
    assert key in found.json()


async def test_the_root_shows_how_to_ask_each_of_them(ask: Asking) -> None:
    assert set(QUESTIONS) <= set((await ask("/")).json()["paths"])


async def test_a_query_for_objects_is_handed_on_as_it_was_given(ask: Asking) -> None:
    await ask("/objects?kind=k&filter=Te%20xt&state=as%20desired&offset=7&limit=3")
    assert ask.answered.queries == [ObjectQuery("k", "Te xt", "as desired", 7, 3)]


async def test_a_query_for_the_journal_is_handed_on_as_it_was_given(ask: Asking) -> None:
    await ask("/journal?before=70&limit=3&kind=k&name=n&sort=write")
    assert ask.answered.queries == [JournalQuery(0, 3, "k", "n", "write", 70)]


async def test_parts_are_paged(ask: Asking) -> None:
    found = (await ask(f"/why?kind={INGRESS['kind']}&name={INGRESS['name']}&offset=1&limit=1")).json()
    assert ([part["part"] for part in found["parts"]], found["parts_total"]) == (
        ["access_control_list_entries.acl_rule[0]"],
        2,
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/why?kind=k", "name is missing; ask as in /why?kind=KIND&name=NAME"),
        ("/why?name=n", "kind is missing"),
        (f"/why?{OF_WEB}&colour=red", "no parameter 'colour'; there are kind, name, part, offset, limit"),
        (f"/why?{OF_WEB}&limit=501", "limit is '501'; it is a number from 1 to 500"),
        ("/objects?limit=0", "limit is '0'"),
        ("/objects?offset=-1", "offset is '-1'"),
        ("/objects?state=fine", "state is 'fine'; there are as desired, waiting, held"),
        (f"/neighbourhood?{OF_WEB}&depth=5", "depth is '5'; it is a number from 1 to 4"),
        ("/reactions?kind=k", "no parameter 'kind'; there are none"),
        ("/journal?sort=reads", "sort is 'reads'; there are evaluation, write"),
        ("/journal?after=1&before=2", "both after and before are given"),
        ("/journal?name=n", "a name is given without its kind"),
        ("/quarantine?filter=x", "no parameter 'filter'; there are offset, limit"),
    ],
)
async def test_a_wrong_question_is_rejected_in_words(ask: Asking, path: str, words: str) -> None:
    status, reported = await ask.error(path)
    assert status == 400
    assert words in reported["error"]
    assert reported["next_step"]


async def test_a_question_without_answer_gets_advice_and_similar_names(ask: Asking) -> None:
    status, reported = await ask.error("/why?kind=k&name=n")
    assert (status, reported["candidates"]) == (404, [WEB["name"]])
    assert "there is no k" in reported["error"]
    assert reported["next_step"].startswith("look for it")


async def test_a_name_that_fits_several_is_a_conflict(ask: Asking) -> None:
    ask.answered.rejections[Comparison] = Unanswerable(409, "two of them", "give more of the name", ("a:n", "b:n"))
    assert await ask.error("/object?kind=k&name=n") == (
        409,
        {"error": "two of them", "next_step": "give more of the name", "candidates": ["a:n", "b:n"]},
    )


async def test_why_something_is_not_there_is_an_answer_and_not_found(ask: Asking) -> None:
    ask.answered.reasons["k", "n"] = {"exists": False, "summary": "nobody claims it", "parts": []}
    found = await ask("/why?kind=k&name=n")
    assert (found.status_code, found.json()["summary"]) == (404, "nobody claims it")


@pytest.mark.parametrize("path", [f"/why?{OF_WEB}", "/objects", "/journal", "/quarantine", "/events"])
async def test_questions_change_nothing(ask: Asking, path: str) -> None:
    assert [(await ask(path, method)).status_code for method in ("HEAD", "POST", "PUT", "DELETE")] == [
        200,
        405,
        405,
        405,
    ]


async def test_the_quarantine_is_paged_beyond_what_the_status_lists(ask: Asking) -> None:
    ask.answered.quarantined = [{"kind": "k", "name": f"n{number}", "message": "x" * 300} for number in range(20_000)]
    found = (await ask("/quarantine?offset=19990&limit=20")).json()
    assert ([entry["name"] for entry in found["quarantine"]], found["total"]) == (
        [f"n{number}" for number in range(19_990, 20_000)],
        20_000,
    )


async def test_a_status_with_many_entries_is_cut_and_says_so(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [{"kind": "k", "name": f"n{number}", "message": "x" * 300} for number in range(1000)]
    monkeypatch.setattr(ObservedCompiler, "status", lambda compiler: {"quarantine": entries})
    whole = await ask("/status")
    assert len(whole.content) <= MOST_BYTES
    assert whole.json()["cut"] is True


async def test_one_without_answers_has_none_of_these_paths() -> None:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        assert (await http.get(f"{url}/why?kind=k&name=n")).status_code == 404
        assert (await http.get(f"{url}/pages/objects")).status_code == 404


@pytest.mark.parametrize("path", [*PATHS, *QUESTIONS])
def test_each_path_stands_in_the_documentation(path: str) -> None:
    assert f"`{path}`" in DOCUMENTATION.read_text()


@pytest.mark.parametrize("indented", [False, True])
@pytest.mark.parametrize(
    "value",
    [
        {"rows": [{"name": "n" * 300, "kind": "k"} for _ in range(5000)]},
        {"actual": {"rules": ["r" * 50] * 100_000}},
        {"actual": "x" * 10_000_000},
        {"deep": {"deeper": [{"texts": ["t" * 40_000] * 100} for _ in range(5)]}},
        {f"key-{number}": "v" for number in range(100_000)},
    ],
)
async def test_no_answer_is_larger_than_the_bound(value: dict[str, Any], indented: bool) -> None:
    assert len(encoded(value, indented=indented)) <= MOST_BYTES


def test_a_cut_list_of_plain_values_says_so_at_its_end() -> None:
    assert bounded(["a", "b", "c"], 2, 10) == ["a", "b", "…"]


def test_a_cut_list_of_rows_holds_rows_only_and_what_holds_it_says_so() -> None:
    assert bounded({"rows": [{"a": 1}, {"a": 2}], "total": 2}, 1, 10) == {"rows": [{"a": 1}], "total": 2, "cut": True}


def test_a_cut_text_says_so() -> None:
    assert bounded({"text": "abcdef"}, 5, 3) == {"text": "abc…"}
