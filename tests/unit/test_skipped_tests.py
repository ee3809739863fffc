"""Tests that lack a program say which one and how to get it, and the last lines of a run count them."""

from __future__ import annotations

import shutil

import pytest
from pytest_mock import MockerFixture

from tests.support.programs import needed, skipped_lines


@pytest.fixture
def nothing_installed(mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    mocker.patch.object(shutil, "which", return_value=None)
    monkeypatch.delenv("INTENTC_TEST_PROGRAMS", raising=False)


def report(reason: str) -> pytest.TestReport:
    return pytest.TestReport("a", ("a.py", 1, "a"), {}, "skipped", ("a.py", 1, f"Skipped: {reason}"), "setup")


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_program_skips_the_test_and_the_reason_says_what_brings_it() -> None:
    with pytest.raises(pytest.skip.Exception, match="missing: `apt-get install kubernetes-client` brings it"):
        needed("kubectl")


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("program", "outcome"), [("kubectl", pytest.fail.Exception), ("kube-apiserver", pytest.skip.Exception)]
)
def test_where_programs_are_required_only_kube_apiserver_may_be_missing(
    program: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTENTC_TEST_PROGRAMS", "required")
    with pytest.raises(outcome):
        needed(program)


def test_skipped_tests_are_counted_by_reason() -> None:
    assert skipped_lines([report("no b"), report("no a"), report("no b")]) == [
        "1 tests: no a",
        "2 tests: no b",
    ]
