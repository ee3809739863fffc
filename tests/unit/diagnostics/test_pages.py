"""What the pages say and how they say it, over the application and a fake ``Reader``; no browser, no engine."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from intentc.diagnostics.app import diagnostics_app
from intentc.diagnostics.questions import Comparison, JournalQuery, Neighbourhood, ObjectQuery, Unanswerable
from intentc.model.comparison import text_at
from tests.unit.diagnostics.answered import (
    DATABASE,
    HTML,
    INGRESS,
    OBJECT,
    WEB,
    Answered,
    ObservedCompiler,
    line,
    resource,
    text_of,
    why_of,
)

PAGES = ("/", "/pages/objects", OBJECT, "/pages/reactions", "/pages/quarantine", "/pages/journal")
SPITE = "<script>alert(1)</script>\"'onload=x"


class Watched(ObservedCompiler):
    """A ``Process`` whose status a test fills."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: dict[str, Any] = super().status()

    def status(self) -> dict[str, Any]:
        return self.reported


@pytest.fixture
def observed() -> Watched:
    return Watched()


@pytest.fixture
def asked() -> Answered:
    return Answered()


@pytest.fixture
def browser(observed: Watched, asked: Answered) -> Iterator[TestClient]:
    with TestClient(diagnostics_app(observed, reader=asked).app, headers=HTML) as client:
        yield client


# ---- every page ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_title_of_its_own_and_the_two_words(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    titles = re.findall(r"<title>(.*)</title>", answer.text)
    assert len(titles) == 1 and titles[0].endswith(" – intentc")
    assert "> converged <" in answer.text.replace("\n", " ") or ">converged<" in answer.text
    assert ">not healthy<" in answer.text


def test_no_two_pages_have_the_same_title(browser: TestClient) -> None:
    titles = {re.findall(r"<title>(.*)</title>", browser.get(path).text)[0] for path in PAGES}
    assert len(titles) == len(PAGES)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_runs_and_styles_by_our_files_alone(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    policy = answer.headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"):
        assert part in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\ssrc=)", answer.text)
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"|javascript:", answer.text)
    assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", answer.text)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_never_kept_by_a_browser(browser: TestClient, path: str) -> None:
    assert browser.get(path).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_every_table_has_a_caption_and_every_heading_a_scope(browser: TestClient, path: str) -> None:
    text = browser.get(path).text
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    assert all("<caption" in table for table in tables)
    assert not re.search(r"<th(?! scope=)(?!ead)", text)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_acts_on_nothing(browser: TestClient, path: str) -> None:
    assert 'method="post"' not in browser.get(path).text.lower()
    assert browser.post(path).status_code == 405


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_somewhere(browser: TestClient, observed: Watched, path: str) -> None:
    observed.reported["problems"] = [{**WEB, "reason": "NoRule", "message": "it is none"}]
    links = set(re.findall(r"(?:href|src|action|data-from)=\"([^\"#]+)", browser.get(path).text))
    assert links
    for link in sorted(links - {"/events", "/views/problems?pretty"}):
        assert browser.get(link.replace("&amp;", "&")).status_code == 200, link


def test_the_root_is_a_page_for_browsers_and_json_for_all_others(browser: TestClient) -> None:
    assert browser.get("/").headers["content-type"].startswith("text/html")
    assert "paths" in browser.get("/", headers={"Accept": "*/*"}).json()


def test_without_anybody_to_ask_there_are_no_pages(observed: Watched) -> None:
    with TestClient(diagnostics_app(observed).app, headers=HTML) as client:
        assert "paths" in client.get("/").json()
        assert client.get("/pages/objects").status_code == 404


def test_a_question_without_an_answer_gets_a_page_with_what_may_be_meant(browser: TestClient) -> None:
    answer = browser.get("/pages/object?kind=security_group&name=nothing")
    assert answer.status_code == 404
    assert "there is no security_group" in text_of(answer.text)
    assert "kind=security_group&amp;name=d%3Ashop%3Aweb" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/pages/objects?offset=-1",
        "/pages/objects?state=fine",
        "/pages/object?kind=security_group",
        OBJECT + "&depth=9",
        "/pages/journal?sort=reads",
        "/pages/quarantine?offset=x",
    ],
)
def test_a_wrong_address_is_reported_in_words(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 400
    assert "No answer" in answer.text


# ---- names that would be markup -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, "/pages/objects?filter=" + SPITE, "/pages/journal?kind=k&name=" + SPITE])
def test_names_are_text_whatever_they_hold(browser: TestClient, observed: Watched, asked: Answered, path: str) -> None:
    spiteful = {**resource(SPITE, SPITE), "uuid": SPITE}
    problem = {**spiteful, "reason": SPITE, "message": SPITE + " `" + SPITE + "`"}
    observed.reported |= {
        "problems": [problem],
        "pending_work": [SPITE],
        "role": SPITE,
    }
    asked.quarantined = [{**problem, "state": SPITE, "since": None, "tries": 1}]
    reason = {"intent": spiteful, "sources": [{**spiteful, "revision": 1, "field": SPITE}]}
    spiteful_line = line(4, intent=spiteful, path=[spiteful, spiteful], objects=[spiteful], status=SPITE)
    asked.listed.append({**spiteful, "revision": 1, "role": SPITE, "ours": True, "state": SPITE, "problems": 0})
    asked.lines.append(spiteful_line)
    asked.map["missing"] = [{"reader": SPITE, "read": SPITE, "count": 1}]
    asked.map["last_error"] = SPITE
    asked.compared["actual"] = {SPITE: SPITE}
    asked.compared["differences"] = [{"field": SPITE, "actual": SPITE, "desired": [SPITE]}]
    asked.reasons[INGRESS["kind"], INGRESS["name"]] |= {
        "summary": SPITE,
        "owners": [spiteful],
        "parts": [{"part": SPITE, "reasons": [reason]}],
        "reads": [{**spiteful, "revision": 1}],
        "problems": [problem],
        "waiting_for": [{"what": SPITE, "resource": spiteful, "command": SPITE}],
        "missing": [{"relation": SPITE, "target": SPITE}],
        "outputs": [{**spiteful, "exists": True, "state": SPITE}],
        "history": [spiteful_line],
        "concerns": [spiteful],
    }
    text = browser.get(path).text
    assert "<script>" not in text
    assert not re.search(r"\"[^\"<>]*\"'onload=", text)


# ---- overview -----------------------------------------------------------------------------------------------------


def test_the_overview_says_what_is_waited_for_and_shows_commands_as_such(
    browser: TestClient, observed: Watched
) -> None:
    observed.reported["pending_work"] = ["approval to delete 500 objects: `intentc allow-deletes route_target`"]
    text = browser.get("/").text
    assert "approval to delete 500 objects: <code>intentc allow-deletes route_target</code>" in text


def test_the_overview_says_why_it_is_not_ready_before_the_first_pass(browser: TestClient, observed: Watched) -> None:
    observed.reported = {"converged": False, "healthy": True}
    observed.reasons = ("etcd: disconnected (connection refused)",)
    text = text_of(browser.get("/").text)
    assert "etcd: disconnected (connection refused)" in text
    assert "not converged" in text


@pytest.mark.parametrize(
    ("reported", "seen"),
    [
        ({"audit": {"period": 3600.0, "last_success": 0.0}, "role": "leader"}, "last audit never"),
        ({"audit": {"period": 3600.0, "last_success": 0.0}, "role": "standby"}, "last audit the leader's"),
        ({"audit": {"period": 0.0, "last_success": 0.0}, "role": "leader"}, "last audit off"),
        ({"audit": None, "role": "leader"}, "last audit off"),
    ],
)
def test_where_no_audit_was_made_the_overview_says_whose_they_are(
    browser: TestClient, observed: Watched, reported: dict[str, Any], seen: str
) -> None:
    observed.reported |= reported
    assert seen in html.unescape(text_of(browser.get("/").text))


def test_the_overview_says_why_the_last_audit_failed(browser: TestClient, observed: Watched) -> None:
    observed.reported["audit"] = {"period": 3600.0, "last_success": 0.0, "last_error": "f.yml:4: no kind x"}
    page = browser.get("/").text
    assert "last audit failed" in text_of(page)
    assert "the last one failed: f.yml:4: no kind x" in page


def test_figures_that_are_not_there_leave_a_dash(browser: TestClient, observed: Watched) -> None:
    observed.reported = {}
    assert re.search(r"held</a></dt>\s*<dd[^>]*>–</dd>", browser.get("/").text)


def test_what_needs_people_is_marked_and_leads_on(browser: TestClient, observed: Watched) -> None:
    observed.reported["counts"] = {"held": 3, "rejected": 0}
    text = browser.get("/").text
    assert re.search(r'class="figure bad"[^>]*>\s*<dt><a href="/pages/quarantine">held', text)
    assert re.search(r'class="figure "[^>]*>\s*<dt><a href="/pages/quarantine">rejected', text)


def test_the_first_load_shows_how_far_it_is(browser: TestClient, observed: Watched) -> None:
    observed.reported["progress"] = {"phase": "evaluating", "done": 1200, "total": 10000}
    assert '<progress id="progress" max="10000" value="1200">' in browser.get("/").text


def test_a_long_list_of_problems_is_cut_and_counted(browser: TestClient, observed: Watched) -> None:
    observed.reported["problems"] = [{**WEB, "reason": "NoRule", "message": f"number {n}"} for n in range(100)]
    observed.reported["counts"] = {"problems": 4000}
    text = browser.get("/").text
    assert "number 19" in text and "number 20" not in text
    assert re.search(r"problems</a></dt>\s*<dd[^>]*>4,000<", text)


# ---- objects ------------------------------------------------------------------------------------------------------


def test_the_search_asks_for_what_the_address_says(browser: TestClient, asked: Answered) -> None:
    browser.get("/pages/objects?kind=security_group&filter=+web+&state=held&offset=50")
    assert asked.queries == [ObjectQuery("security_group", "web", "held", 50, 50)]


def test_the_objects_are_paged_and_the_filters_go_with_it(browser: TestClient, asked: Answered) -> None:
    asked.listed = [
        {**resource("security_group", f"d:p:{n:03}"), "revision": n, "role": "input", "ours": False,
         "state": "as desired", "problems": 0}
        for n in range(120)
    ]  # fmt: skip
    text = browser.get("/pages/objects?filter=d&offset=50").text
    assert "51–100 of 120 objects" in text
    assert 'rel="prev" href="/pages/objects?filter=d"' in text
    assert 'rel="next" href="/pages/objects?filter=d&amp;offset=100"' in text


def test_a_search_that_finds_nothing_says_what_to_try(browser: TestClient) -> None:
    assert "Nothing matches." in browser.get("/pages/objects?filter=zzz").text


def test_an_empty_world_says_what_to_do(browser: TestClient, asked: Answered) -> None:
    asked.listed = []
    assert "There are no resources yet." in browser.get("/pages/objects").text


# ---- an object ----------------------------------------------------------------------------------------------------


def test_an_object_names_the_sources_of_each_part_as_links(browser: TestClient) -> None:
    text = browser.get(OBJECT).text
    row = re.findall(r"<tr>(?:(?!</tr>).)*acl_rule\[0\].*?</tr>", text, re.DOTALL)[0]
    assert "kind=security_group&amp;name=d%3Ashop%3Aweb" in row
    assert "security_group_entries.policy_rule[0]" in row
    assert "@41" in row


def test_an_object_shows_the_differences_before_the_whole(browser: TestClient) -> None:
    text = browser.get(OBJECT).text
    assert text.index("1 difference") < text.index("<summary>Actual")


def test_an_object_without_difference_says_so(browser: TestClient, asked: Answered) -> None:
    asked.compared["differences"] = []
    assert "No difference" in browser.get(OBJECT).text


def test_the_neighbourhood_is_a_list_for_who_runs_no_scripts(browser: TestClient) -> None:
    around = browser.get(OBJECT).text.partition('id="around"')[2]
    assert re.search(r"d:shop:web</a></td><td>child.*?ingress-access-control-list</a></td>", around, re.DOTALL)


def test_parts_are_filtered_and_paged(browser: TestClient, asked: Answered) -> None:
    parts = asked.reasons[INGRESS["kind"], INGRESS["name"]]["parts"]
    parts += [{**parts[1], "part": f"access_control_list_entries.acl_rule[{n}]"} for n in range(1, 100)]
    text = browser.get(OBJECT + "&part=acl_rule[1").text
    assert "acl_rule[19]" in text and "acl_rule[29]" not in text
    assert "1–40 of 101 parts" in browser.get(OBJECT).text


def test_an_object_that_is_not_there_says_why_not(browser: TestClient, asked: Answered) -> None:
    gone = resource("access_control_list", "d:shop:gone")
    summary = "It does not exist: security_group d:shop:gone, which would create it, is held."
    asked.reasons[gone["kind"], gone["name"]] = why_of(
        gone, exists=False, revision=None, state="absent", summary=summary, owners=[], parts=[], parts_total=0,
        written=None, history=[], uuid="",
        waiting_for=[{"what": "the held intent", "resource": WEB, "command": "intentc quarantine retry K N"}],
    )  # fmt: skip
    text = text_of(browser.get("/pages/object?kind=access_control_list&name=d:shop:gone").text)
    assert summary in text
    assert "intentc quarantine retry K N" in text


def test_an_object_without_comparison_and_neighbours_is_shown(browser: TestClient, asked: Answered) -> None:
    asked.rejections = dict.fromkeys((Comparison, Neighbourhood), Unanswerable(404, "a fact is not stored"))
    answer = browser.get(OBJECT)
    assert answer.status_code == 200
    assert answer.text.count("a fact is not stored") == 2


# ---- reactions, quarantine, journal ---------------------------------------------------------------------------------


def test_each_edge_stands_with_its_place(browser: TestClient) -> None:
    text = text_of(browser.get("/pages/reactions").text)
    assert "security_group self security_group contrail.yml:12" in text
    assert "project self all security_group contrail.yml:15" in text


def test_findings_and_missing_reactions_are_reported(browser: TestClient) -> None:
    text = text_of(browser.get("/pages/reactions").text)
    assert "note no change reaches a project through itself contrail.yml:15" in text
    assert "A change of should lead to Times project security_group 3" in text


def test_a_rejected_reload_is_reported(browser: TestClient, asked: Answered) -> None:
    asked.map["last_error"] = "reactions/contrail.yml:7: no kind 'securty_group'"
    assert "The last reload was rejected" in browser.get("/pages/reactions").text


@pytest.mark.parametrize(
    ("state", "command"),
    [
        ("held", "intentc quarantine retry security_group d:shop:web"),
        ("suspect", "intentc quarantine retry security_group d:shop:web"),
        ("rejected", "intentc quarantine retry security_group d:shop:web"),
        ("dropped", "intentc quarantine retry security_group d:shop:web"),
        ("paused", "intentc resume security_group d:shop:web"),
        ("unreadable", "intentc why security_group d:shop:web"),
        ("withheld", "intentc allow-deletes security_group"),
    ],
)
def test_the_quarantine_shows_the_command_that_helps(
    browser: TestClient, asked: Answered, state: str, command: str
) -> None:
    entry = {**WEB, "state": state, "reason": "Because", "message": "of this", "since": 1_790_000_000.0, "tries": 3}
    asked.quarantined = [entry]
    assert f"<code>{command}</code>" in browser.get("/pages/quarantine").text


def test_a_name_that_a_shell_would_take_apart_is_quoted(browser: TestClient, asked: Answered) -> None:
    entry = {**resource("k", "a b;rm"), "state": "held", "reason": "R", "message": "m", "since": None, "tries": 0}
    asked.quarantined = [entry]
    assert "<code>intentc quarantine retry k &#39;a b;rm&#39;</code>" in browser.get("/pages/quarantine").text


def test_the_quarantine_is_paged_to_its_end_at_one_question_for_the_status(
    browser: TestClient, observed: Watched, asked: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.quarantined = [
        {**resource("k", f"n-{n}"), "state": "held", "reason": "R", "message": "m", "since": None, "tries": 0}
        for n in range(20_000)
    ]
    status, questions = observed.status, iter(range(100))
    monkeypatch.setattr(observed, "status", lambda: {**status(), "questions": next(questions)})
    text = text_of(browser.get("/pages/quarantine?offset=19990").text)
    assert "n-19990" in text
    assert "n-19999" in text
    assert "of 20,000" in text
    assert next(questions) == 1


def test_an_empty_quarantine_says_so(browser: TestClient) -> None:
    assert "Nothing is quarantined." in browser.get("/pages/quarantine").text


def test_the_journal_shows_the_newest_line_first(browser: TestClient) -> None:
    assert re.findall(r'<td class="number">(\d)</td>', browser.get("/pages/journal").text) == ["3", "2", "1"]


def test_the_journal_is_paged_back_and_then_does_not_move(browser: TestClient, asked: Answered) -> None:
    asked.lines = [line(n) for n in range(1, 101)]
    newest = browser.get("/pages/journal?name=web").text
    assert 'href="/pages/journal?name=web&amp;before=41"' in newest
    older = browser.get("/pages/journal?name=web&before=41").text
    assert "older lines" not in older
    assert "journal." in newest.partition("</head>")[0]
    assert "journal." not in older.partition("</head>")[0]


def test_the_journal_asks_for_what_the_address_says(browser: TestClient, asked: Answered) -> None:
    browser.get("/pages/journal?kind=security_group&name=d:shop:web&sort=write&before=7")
    assert asked.queries == [JournalQuery(0, 60, "security_group", "d:shop:web", "write", 7)]


def test_a_journal_without_lines_says_what_to_expect(browser: TestClient, asked: Answered) -> None:
    asked.lines = []
    assert "Nothing was evaluated or written yet." in browser.get("/pages/journal").text
    assert "No line matches" in browser.get(f"/pages/journal?kind=x&name={DATABASE['name']}").text


# ---- what a part holds ----------------------------------------------------------------------------------------------


def test_beside_a_part_stands_what_it_holds(browser: TestClient, asked: Answered) -> None:
    rules = [{"rule_uuid": "first"}, {"rule_uuid": "second"}]
    asked.compared["desired"] = {"access_control_list_entries": {"acl_rule": rules}}
    row = re.findall(r"<tr>(?:(?!</tr>).)*acl_rule\[0\].*?</tr>", browser.get(OBJECT).text, re.DOTALL)[0]
    assert "{&#34;rule_uuid&#34;: &#34;first&#34;}" in row
    assert "second" not in row


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("a.list[1].b", "7"),
        ("a", '{"list": [{}, {"b": 7}]}'),
        ("only_actual", '"here"'),
        ("a.list[2]", ""),
        ("a.b", ""),
        ("x_refs[d:p:x]", ""),
        ("", ""),
    ],
)
def test_a_part_is_looked_up_by_its_path(part: str, value: str) -> None:
    compared = {"desired": {"a": {"list": [{}, {"b": 7}]}}, "actual": {"a": 1, "only_actual": "here"}}
    assert text_at(compared, part) == value
    assert text_at({}, part) == ""


def test_the_neighbourhood_is_narrowed_to_kinds_for_the_list_and_the_drawing(
    browser: TestClient, asked: Answered
) -> None:
    text = browser.get(OBJECT + "&depth=3&kinds=security_group,+project").text
    kinds = ("security_group", "project")
    assert asked.queries == [Neighbourhood(INGRESS["kind"], INGRESS["uuid"], 3, kinds)]
    assert "depth=3&amp;kinds=security_group%2C+project" in text


# ---- what an object's page says of unknown things -------------------------------------------------------------------


def test_a_write_of_which_only_the_revision_is_known_is_shown_without_operation(
    browser: TestClient, asked: Answered
) -> None:
    written = {"operation": None, "revision": 25, "at": None, "by": "before this start"}
    asked.reasons[INGRESS["kind"], INGRESS["name"]] = why_of(INGRESS, written=written)
    assert "Last write: at revision 25, before this start." in text_of(browser.get(OBJECT).text)


def test_a_value_that_cannot_be_read_is_not_called_absent(browser: TestClient, asked: Answered) -> None:
    asked.compared |= {"actual": None, "differences": [], "unreadable": "line 1: expected an object"}
    shown = text_of(browser.get(OBJECT).text)
    assert "can't be read, so nothing can be compared: line 1: expected an object" in shown
    assert "Actual: can't be read" in shown and "Actual: absent" not in shown
