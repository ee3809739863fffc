"""Pages link from errors to candidates: to similar kinds, to awaited resources, and to the details."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from intentc.diagnostics.app import diagnostics_app
from intentc.diagnostics.pages import listings
from intentc.diagnostics.questions import JournalQuery, NamedAs, Unanswerable, Why
from tests.unit.diagnostics.answered import (
    DATABASE,
    HTML,
    INGRESS,
    NOW,
    OBJECT,
    WEB,
    Answered,
    ObservedCompiler,
    line,
    text_of,
    why_of,
    write,
)


def rejecting(error: Unanswerable) -> Answered:
    """One that has no answer, and says what may be meant."""
    answered = Answered()
    answered.rejections = {Why: error, JournalQuery: error}
    return answered


@pytest.fixture
def asked() -> Answered:
    return Answered()


@pytest.fixture
def browser(asked: Answered) -> Iterator[TestClient]:
    yield browsing(asked)


def browsing(asked: Answered) -> TestClient:
    return TestClient(diagnostics_app(ObservedCompiler(), reader=asked).app, headers=HTML)


def unknown(*kinds: str) -> Answered:
    return rejecting(Unanswerable(404, "unknown kind 'acl'", "`intentc get` lists the kinds", kinds, NamedAs.KINDS))


def test_a_kind_that_may_be_meant_is_asked_for_with_the_same_name() -> None:
    answer = browsing(unknown("access_control_list")).get("/pages/object?kind=acl&name=web&depth=2")
    assert answer.status_code == 404
    assert 'href="/pages/object?kind=access_control_list&amp;name=web&amp;depth=2"' in answer.text


def test_an_unknown_kind_of_the_journal_is_no_empty_journal() -> None:
    answer = browsing(unknown("access_control_list")).get("/pages/journal?kind=acl")
    assert answer.status_code == 404
    assert 'href="/pages/journal?kind=access_control_list"' in answer.text


def test_objects_of_several_kinds_that_may_be_meant_lead_to_their_pages() -> None:
    error = Unanswerable(409, "it fits 2", "", ("rules d:a", "list d:b"), NamedAs.KINDS_AND_NAMES)
    text = browsing(rejecting(error)).get("/pages/object?kind=outside&name=x").text
    assert 'href="/pages/object?kind=rules&amp;name=d%3Aa"' in text
    assert 'href="/pages/object?kind=list&amp;name=d%3Ab"' in text


@pytest.mark.parametrize("path", ["/pages/nonsense", "/nonsense", "/pages/"])
def test_a_page_that_there_is_not_is_a_page_with_the_navigation(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert path in text_of(answer.text)
    assert 'href="/pages/objects">Objects</a>' in answer.text


def test_an_intent_held_because_of_another_points_to_that_one() -> None:
    entry = {**WEB, "state": "held", "reason": "Held", "message": "it reads it", "since": NOW, "tries": 0}
    shown = listings.quarantine_list({"offset": 0, "total": 1, "quarantine": [{**entry, "on": DATABASE}]})
    assert [row["command"] for row in shown["rows"]] == ["intentc why security_group d:shop:database"]


def test_a_write_shows_the_fields_that_it_sets(browser: TestClient, asked: Answered) -> None:
    asked.lines = [write(1, fields=["display_name", "<b>"])]
    text = text_of(browser.get("/pages/journal").text)
    assert "update access_control_list d:shop:web:ingress-access-control-list sets display_name , &lt;b&gt;" in text


def test_a_line_of_another_process_says_whose_it_is(browser: TestClient, asked: Answered) -> None:
    asked.reasons[INGRESS["kind"], INGRESS["name"]] = why_of(INGRESS, history=[line(1, by="lab/host-2"), write(2)])
    text = text_of(browser.get(OBJECT).text)
    assert text.count("by the process") == 1
    assert "by the process lab/host-2" in text


@pytest.mark.parametrize("recorded_in", ["before this start", "a line that the journal has dropped"])
def test_an_evaluation_of_which_no_line_is_left_says_so(browser: TestClient, asked: Answered, recorded_in: str) -> None:
    forgotten = {"intent": WEB, "status": None, "revision": None, "at": None, "path": None, "recorded_in": recorded_in}
    asked.reasons[INGRESS["kind"], INGRESS["name"]] = why_of(INGRESS, evaluations=[forgotten])
    assert recorded_in in text_of(browser.get(OBJECT).text)
