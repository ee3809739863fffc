"""Pages and lines of a watch, cut anywhere."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.kubernetes.wire import Lines, Unreadable, decode_event, decode_page, newer

_EVENTS = [
    {
        "type": "ADDED",
        "object": {"kind": "Farm", "metadata": {"name": f"field-{number}", "resourceVersion": str(number)}},
    }
    for number in range(4)
]
_STREAM = b"".join(json.dumps(event).encode() + b"\n" for event in _EVENTS)


@given(st.lists(st.integers(0, len(_STREAM))))
def test_a_stream_cut_anywhere_gives_the_same_lines(cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(_STREAM)})
    lines = Lines()
    found = [line for start, end in pairwise(places) for line in lines.fed(_STREAM[start:end])]
    assert [json.loads(line) for line in found] == _EVENTS


def test_a_line_that_is_not_complete_is_no_line() -> None:
    lines = Lines()
    assert list(lines.fed(b'{"type"')) == []
    assert list(lines.fed(b": 1}\n\n{")) == [b'{"type": 1}']


def test_a_line_without_an_end_is_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.bridges.kubernetes.wire.LONGEST_LINE", 10)
    with pytest.raises(Unreadable):
        list(Lines().fed(b"x" * 11))


def test_an_error_has_code_and_words() -> None:
    event = decode_event(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}')
    assert (event.type, event.code, event.message) == ("ERROR", 410, "too old")


def test_a_page_has_its_objects_and_where_it_continues() -> None:
    body = (
        b'{"metadata":{"resourceVersion":"7","continue":"next"},'
        b'"items":[{"metadata":{"namespace":"valley","name":"north","uid":"u","resourceVersion":"5"},"spec":{"a":1}}]}'
    )
    page = decode_page(body)
    (found,) = page.objects
    assert (page.version, page.next) == ("7", "next")
    assert (found.identity, found.uid, found.version) == (("valley", "north"), "u", "5")
    assert json.loads(found.body)["spec"] == {"a": 1}


def test_an_empty_list_of_go_is_null() -> None:
    assert decode_page(b'{"metadata":{"resourceVersion":"1"},"items":null}').objects == ()


@pytest.mark.parametrize("body", [b"", b"[]", b'{"items":[]}', b'{"metadata":{},"items":[1]}', b"\xff"])
def test_what_is_no_list_is_reported(body: bytes) -> None:
    with pytest.raises(Unreadable):
        decode_page(body)


def test_versions_that_are_no_numbers_are_not_compared() -> None:
    assert newer("10", "9") is True
    assert newer("9", "9") is False
    assert newer("a", "9") is None
    assert newer("1", "") is None
