"""An answer as a tree: each kind of line, ages, reasons that suffice alone, and names that would move the cursor."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from intentc.cli.commands.why import tree_of
from intentc.inspection.awaited import distinct, entry

NOW = 1_790_000_000.0
WEB = {"kind": "security_group", "name": "d:web", "uuid": "1"}
DB = {"kind": "security_group", "name": "d:db", "uuid": "2"}


def source(resource: dict[str, Any], field: str = "", revision: int | None = 7) -> dict[str, Any]:
    return {**resource, "revision": revision, "field": field}


def reason(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"intent": WEB, "sources": list(sources)}


def lines(everything: bool = False, **changed: Any) -> list[str]:
    answer = {
        "kind": "access_control_list",
        "name": "d:web:in",
        "uuid": "3",
        "exists": True,
        "revision": 9,
        "role": "output",
        "summary": "It exists because of security_group d:web.",
        "state": "as desired",
        "waiting_for": [],
        "problems": [],
        "ownership": "ours",
        "owners": [WEB],
        "parts": [{"part": "", "reasons": [reason(source(WEB))]}],
        "parts_total": 1,
        "reads": [],
        "reads_total": 0,
        "evaluations": [],
        "written": None,
        "history": [],
        "outputs": [],
        "outputs_total": 0,
        "missing": [],
        "concerns": [],
        "concerns_total": 0,
        **changed,
    }
    stream = StringIO()
    Console(file=stream, width=1000).print(tree_of(answer, now=NOW, everything=everything))
    return stream.getvalue().splitlines()


def test_what_is_in_order_is_reported_by_its_reasons() -> None:
    assert lines() == [
        "access_control_list d:web:in   as desired, ours, revision 9",
        "└── because of security_group d:web  (revision 7)",
    ]


def test_what_is_not_in_order_begins_with_the_summary_and_what_it_waits_for() -> None:
    waited = {"what": "its intent security_group d:web, which is held", "resource": WEB, "command": "intentc why x"}
    assert lines(state="held", summary="It is held.", waiting_for=[waited])[1:4] == [
        "├── It is held.",
        "├── waits for its intent security_group d:web, which is held",
        "│   └── see: intentc why x",
    ]


def test_reasons_of_which_each_suffices_are_distinguished_from_sources_of_which_all_are_needed() -> None:
    one = {"part": "rules[0]", "reasons": [reason(source(WEB, "rule[1]"), source(DB))]}
    any_of = {"part": "rules[1]", "reasons": [reason(source(WEB)), reason(source(DB))]}
    several = {"part": "rules[2]", "reasons": [reason(source(WEB), source(DB)), reason(source(DB))]}
    assert lines(parts=[one, any_of, several], parts_total=3)[2:] == [
        "├── rules[0]",
        "│   ├── security_group d:web  rule[1]  (revision 7)",
        "│   └── security_group d:db  (revision 7)",
        "├── rules[1]: any of these suffices",
        "│   ├── security_group d:web  (revision 7)",
        "│   └── security_group d:db  (revision 7)",
        "└── rules[2]: any of these suffices",
        "    ├── contributed by security_group d:web",
        "    │   ├── security_group d:web  (revision 7)",
        "    │   └── security_group d:db  (revision 7)",
        "    └── contributed by security_group d:web",
        "        └── security_group d:db  (revision 7)",
    ]


def test_parts_with_the_reason_of_the_object_share_a_line() -> None:
    parts = [{"part": part, "reasons": [reason(source(WEB))]} for part in ("", "port", "routes")]
    assert lines(parts=parts, parts_total=3)[1:] == [
        "├── because of security_group d:web  (revision 7)",
        "└── for the same reason: port, routes",
    ]


def evaluation(**changed: Any) -> dict[str, Any]:
    known = {
        "intent": WEB,
        "status": "done",
        "revision": 7,
        "at": NOW - 12,
        "path": [DB, WEB],
        "recorded_in": "journal",
    }
    return {**known, **changed}


def test_the_last_evaluation_is_reported_with_its_way_and_age() -> None:
    assert lines(evaluations=[evaluation()])[-1] == (
        "└── last evaluated at revision 7, 12 s ago: security_group d:db → security_group d:web (done)"
    )


def test_an_evaluation_before_this_start_says_so() -> None:
    shown = evaluation(path=None, recorded_in="before this start")
    assert lines(evaluations=[shown])[-1] == "└── last evaluated: before this start (done)"


def test_a_write_is_reported_with_who_made_it_and_one_before_this_start_without() -> None:
    by = {"operation": "update", "revision": 8, "at": NOW - 7200, "by": "default/host-1"}
    assert lines(written=by)[-1] == "└── written: update at revision 8 by default/host-1, 2 h ago"
    before = {"operation": None, "revision": 8, "at": None, "by": "before this start"}
    assert lines(written=before)[-1] == "└── written: at revision 8, before this start"


def test_the_history_is_shown_when_everything_is_wanted() -> None:
    write = {"sort": "write", "at": NOW - 86400 * 3, "operation": "update", "object": WEB, "drift": True}
    run = {**evaluation(), "sort": "evaluation"}
    assert lines(everything=True, history=[write, run])[-3:] == [
        "└── history",
        "    ├── 3 d ago: update security_group d:web (somebody else had changed it)",
        "    └── 12 s ago: evaluated at revision 7: security_group d:db → security_group d:web (done)",
    ]


def test_a_line_of_the_history_names_the_fields_and_whose_line_it_is() -> None:
    fields = {"fields": ["display_name", "network_refs"], "by": "lab/host-2"}
    write = {"sort": "write", "at": NOW - 2, "operation": "update", "object": WEB, "drift": False, **fields}
    run = {**evaluation(), "sort": "evaluation", "by": "lab/host-2"}
    assert lines(everything=True, history=[write, run])[-2:] == [
        "    ├── 2 s ago: update security_group d:web: display_name, network_refs, by lab/host-2",
        "    └── 12 s ago: evaluated at revision 7: security_group d:db → security_group d:web (done), by lab/host-2",
    ]


def test_a_name_that_would_move_the_cursor_or_colour_the_line_is_written_out() -> None:
    assert lines(name="a\x1b[2J\r\n[red]b")[0] == (
        "access_control_list a\\x1b[2J\\r\\n[red]b   as desired, ours, revision 9"
    )


def test_what_was_deleted_says_when_and_shows_its_history() -> None:
    line = {"sort": "evaluation", "at": NOW - 40, "revision": 12, "path": [], "intent": WEB, "status": "deleted"}
    shown = lines(
        exists=False,
        state="absent",
        ownership=None,
        revision=None,
        parts=[],
        parts_total=0,
        summary="It was deleted at revision 12. It was not created again.",
        deleted={"revision": 12, "at": NOW - 40, "by": None},
        history=[line],
    )
    assert shown[1] == "├── deleted at revision 12, 40 s ago"
    assert shown[-1] == "    └── 40 s ago: evaluated at revision 12: security_group d:web (deleted)"


def test_outputs_that_others_have_too_say_so() -> None:
    made = {**DB, "exists": True, "state": "as desired"}
    shown = lines(outputs=[{**made, "with_others": 3}, {**made, "with_others": 0}], outputs_total=2)
    assert [line[8:] for line in shown if "d:db" in line] == [
        "security_group d:db   as desired, with 3 others",
        "security_group d:db   as desired",
    ]


def test_each_sentence_is_shown_once() -> None:
    reason_ = "value can't be read: JSON is malformed"
    shown = lines(
        state="held",
        summary=f"2 objects follow from it; it is held, and waits for its stored value: {reason_}.",
        waiting_for=[{"what": f"its stored value: {reason_}", "resource": None, "command": None}],
        problems=[{**WEB, "reason": "Malformed", "message": reason_, "source": ""}],
    )
    assert sum(reason_ in line for line in shown) == 1
    assert shown[1] == "├── 2 objects follow from it; it is held."


def test_what_is_waited_for_twice_is_listed_once() -> None:
    one, other = entry("its stored value"), entry("its stored value", WEB, "intentc why x")
    assert distinct([one, other, entry("more")]) == [other, entry("more")]
