"""Results to look through, a page at a time, over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar

import httpx2
import pytest

from intentc.diagnostics.app import MOST_ENTRIES
from intentc.diagnostics.serving import running_diagnostics
from tests.support.waiting import PATIENCE
from tests.unit.diagnostics.answered import Answered, ObservedCompiler

pytestmark = pytest.mark.anyio


class Fruit(Answered):
    """A ``Reader`` with one view of 700 rows."""

    views: ClassVar = {"fruit": {"description": "what grows", "columns": ["number", "name", "ripe", "sold"]}}

    async def rows(self, view: str, wanted: Callable[[dict[str, Any]], bool], /) -> list[dict[str, Any]]:
        assert view == "fruit"
        every = [
            {
                "number": number,
                "name": "Pear" if number % 7 == 0 else "apple",
                "ripe": number < 2,
                "sold": [{"to": f"shop-{number}", "percent": 100}],
            }
            for number in range(700)
        ]
        return [row for row in every if wanted(row)]


class Long(Fruit):
    async def rows(self, view: str, wanted: Callable[[dict[str, Any]], bool], /) -> list[dict[str, Any]]:
        return [{"number": 1, "name": "n", "ripe": True, "sold": [str(shop) for shop in range(MOST_ENTRIES + 5)]}]


async def ask(path: str, reader: Fruit | None = None, method: str = "GET") -> httpx2.Response:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=reader or Fruit()) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        return await http.request(method, url + path)


async def numbers(query: str) -> list[int]:
    return [row["number"] for row in (await ask(f"/views/fruit?{query}")).json()["rows"]]


async def test_the_views_are_reported_with_a_line_each() -> None:
    assert (await ask("/views")).json() == {"views": Fruit.views}


async def test_the_root_names_the_views() -> None:
    assert "/views" in (await ask("/")).json()["paths"]


async def test_without_a_query_the_first_hundred_rows_come() -> None:
    found = (await ask("/views/fruit")).json()
    assert {**found, "rows": len(found["rows"])} == {
        "view": "fruit",
        "columns": Fruit.views["fruit"]["columns"],
        "total": 700,
        "offset": 0,
        "rows": 100,
    }


async def test_pages_follow_each_other_without_gap_or_overlap() -> None:
    pages = [await numbers(f"offset={offset}&limit=300") for offset in (0, 300, 600, 900)]
    assert [len(page) for page in pages] == [300, 300, 100, 0]
    assert list(chain(*pages)) == list(range(700))


async def test_a_filter_finds_text_anywhere_in_a_row_whatever_its_case() -> None:
    assert await numbers("filter=pEAR&limit=3") == [0, 7, 14]
    assert await numbers("filter=SHOP-699") == [699]
    assert (await ask("/views/fruit?filter=pear&limit=1")).json()["total"] == 100


async def test_a_filter_looks_at_values_and_not_at_the_names_of_columns() -> None:
    assert await numbers("filter=percent") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [("name=Pear&limit=2", [0, 7]), ("number=7", [7]), ("ripe=true", [0, 1]), ("sold=shop-5", [5]), ("name=Pea", [])],
)
async def test_a_column_is_asked_for_whole(query: str, found: list[int]) -> None:
    assert await numbers(query) == found


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("limit=501", "limit is '501'; it is a number from 1 to 500"),
        ("limit=0", "limit is '0'"),
        ("offset=-1", "offset is '-1'"),
        ("offset=1e3", "offset is '1e3'"),
        ("offset=99999999999999999999", "offset is"),
        ("offset=٣", "offset is"),
        ("colour=red", "no parameter 'colour'; there are offset, limit, filter, and columns: number, name"),
    ],
)
async def test_a_wrong_query_is_rejected_in_words(query: str, words: str) -> None:
    rejected = await ask(f"/views/fruit?{query}")
    assert rejected.status_code == 400
    assert words in rejected.json()["error"]


async def test_an_unknown_view_is_rejected_with_those_that_there_are() -> None:
    rejected = await ask("/views/fruits")
    assert rejected.status_code == 404
    assert rejected.json() == {
        "error": "there is no view 'fruits'; there are fruit",
        "next_step": "`/views` describes each view",
        "candidates": ["fruit"],
    }


async def test_a_very_long_list_in_a_row_is_cut_and_says_so() -> None:
    (row,) = (await ask("/views/fruit", Long())).json()["rows"]
    assert (len(row["sold"]), row["sold"][-1]) == (MOST_ENTRIES + 1, "… and 5 more")


@pytest.mark.parametrize("path", ["/views", "/views/fruit"])
async def test_views_are_for_reading_only(path: str) -> None:
    assert [(await ask(path, method=method)).status_code for method in ("HEAD", "POST", "PUT", "DELETE")] == [
        200,
        405,
        405,
        405,
    ]


async def test_a_process_without_a_reader_has_no_views() -> None:
    async with (
        running_diagnostics(ObservedCompiler(), "127.0.0.1", 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        assert (await http.get(url + "/views")).status_code == 404
