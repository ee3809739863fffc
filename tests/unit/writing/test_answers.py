"""The error for each answer of the API server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import msgspec
import pytest

from intentc.reconcile.failures import Conflict, Failure, Fenced, Rejected, Throttled, UnknownOutcome
from intentc.writing.answers import DEFAULT_PAUSE, LONGEST_PAUSE, Answer, failure


def answer(status: int, message: str | None = "no", **headers: str) -> Answer:
    content = b"<html>" if message is None else msgspec.json.encode({"message": message})
    return Answer(status, httpx2.Headers({name.replace("_", "-"): text for name, text in headers.items()}), content)


@pytest.mark.parametrize(
    ("status", "message", "relates", "error"),
    [
        (400, "bad rule", False, Rejected),
        (400, "no such target", True, Conflict),
        (403, "not allowed", True, Rejected),
        (404, "no such uuid", False, Conflict),
        (409, "exists", False, Conflict),
        (412, "access_list/a1 is at 9", False, Conflict),
        (412, "fence: main/5 leads no more", False, Fenced),
        (412, "Fence lost", False, Fenced),
        (412, "Quota exceeded for 'group'", False, Rejected),
        (413, "200 operations, the limit is 128", False, Rejected),
        (418, "teapot", False, Rejected),
        (302, "", False, Rejected),
        (429, "slow down", False, Throttled),
        (503, None, False, Throttled),
        (500, "can't read the stored value", False, Rejected),
        (500, None, False, UnknownOutcome),
        (500, "", False, UnknownOutcome),
        (502, "bad gateway", False, UnknownOutcome),
        (504, "etcd did not answer the write", False, UnknownOutcome),
    ],
)
def test_each_answer_is_the_error_that_says_what_is_known(
    status: int, message: str | None, relates: bool, error: type[Failure]
) -> None:
    assert type(failure(answer(status, message), relates=relates)) is error


def test_a_rejection_keeps_status_and_the_servers_words() -> None:
    error = failure(answer(403, "security_group_id is the server's"))
    assert isinstance(error, Rejected)
    assert (error.status, error.message) == (403, "security_group_id is the server's")
    assert str(error) == "403: security_group_id is the server's"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0.25", 0.25),
        ("-3", 0.0),
        ("", DEFAULT_PAUSE),
        ("soon", DEFAULT_PAUSE),
        ("nan", DEFAULT_PAUSE),
        ("1e9", LONGEST_PAUSE),
    ],
)
def test_the_pause_is_what_retry_after_says_within_reason(header: str, seconds: float) -> None:
    error = failure(answer(429, Retry_After=header))
    assert isinstance(error, Throttled)
    assert error.seconds == seconds


def test_the_pause_may_be_given_as_a_date() -> None:
    error = failure(answer(503, Retry_After=format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)))
    assert isinstance(error, Throttled)
    assert 15 < error.seconds <= 20


@pytest.mark.parametrize(("text", "revision"), [("12", 12), ("", None), ("-1", None), ("x", None), ("²", None)])
def test_the_revision_is_read_from_its_header(text: str, revision: int | None) -> None:
    assert Answer(200, {"X-Etcd-Revision": text}, b"").revision == revision


def test_a_rejection_may_name_an_element_of_a_batch_and_its_words() -> None:
    rejection = Answer(409, {}, b'{"message":"item 3 (target t): it exists","item":3,"detail":"it exists"}')
    assert rejection.item == 3
    assert rejection.of_item.message == "it exists"
    assert rejection.of_item.status == 409


@pytest.mark.parametrize("content", [b'{"message":"no"}', b'{"message":"no","item":"3"}', b"<html>", b""])
def test_a_rejection_of_the_whole_batch_names_no_element(content: bytes) -> None:
    assert Answer(409, {}, content).item is None
