"""What commands say where the compiler answers, and what it answers is of no use."""

from __future__ import annotations

import json

import anyio
import httpx2
import pytest

from intentc.cli.command_error import CommandError, Exit
from intentc.cli.diagnostics_client import wait_for
from intentc.loading.configuration import Address
from intentc.loading.configuration.sections import Diagnostics

WHERE = Diagnostics(address=Address("127.0.0.1:8877"))


def error_for(code: int, text: str) -> CommandError:
    """What is raised for such an answer."""

    async def ask() -> None:
        await wait_for(
            WHERE, lambda status: True, 5, httpx2.MockTransport(lambda request: httpx2.Response(code, text=text))
        )

    with pytest.raises(CommandError) as error:
        anyio.run(ask)
    return error.value


def test_an_internal_error_of_the_compiler_is_reported_as_that() -> None:
    error = error_for(500, "Internal Server Error")
    assert error.what == "the compiler answered with an error: 500 Internal Server Error"
    assert error.where == "http://127.0.0.1:8877/status"
    assert error.next_step == "its log has the cause: please report it"
    assert error.code is Exit.INTERNAL


@pytest.mark.parametrize("code", [302, 403, 502, 503])
def test_another_answer_is_reported_with_its_code_and_without_anybody_elses_address(code: int) -> None:
    error = error_for(code, "no")
    assert f"the compiler answered with an error: {code} " in error.what
    assert "mozilla" not in error.what + error.next_step
    assert error.code is Exit.UNREACHABLE


def rejected_with(**content: object) -> CommandError:
    return error_for(404, json.dumps(content))


def test_names_that_the_rejection_has_already_are_not_said_twice() -> None:
    message, advice = "unknown kind 'grp'; did you mean group?", "`intentc get` lists the kinds"
    error = rejected_with(error=message, next_step=advice, candidates=["group"])
    assert (error.what, error.next_step) == (message, advice)


def test_names_that_the_rejection_does_not_have_are_what_to_try_next() -> None:
    error = rejected_with(error="there is no group wen", next_step="/why says why", candidates=["web", "wet"])
    assert error.next_step == "did you mean web or wet?"


def test_a_rejection_without_json_is_reported_in_its_words() -> None:
    assert error_for(400, "Invalid host header").what == "the compiler rejects the request: Invalid host header"
    assert error_for(404, "Not Found").what == "the compiler has no /status"
