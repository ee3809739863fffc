"""``intentc --version`` names the commit where it is known, and says ``unknown`` where it is not.

That a wheel brings its commit is tested in ``tests/unit/test_wheel.py``.
"""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from intentc.cli.version import COMMIT_FILE, commit, commit_of_checkout
from tests.unit.cli.running import Intentc


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package without a commit, in a folder that is no checkout."""
    folder = tmp_path / "checkout" / "intentc"
    (folder / "data").mkdir(parents=True)
    return folder


def git_that(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program ``git`` in front of all others."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_version_and_commit_are_printed(intentc: Intentc) -> None:
    ended = intentc("--version")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(rf"intentc {re.escape(version('intentc'))} \(commit \S+\)\n", ended.out)


def test_a_wheel_names_the_commit_that_it_brings(package: Path) -> None:
    (package / COMMIT_FILE).write_text("0123456789ab\n")
    assert commit(package) == "0123456789ab"


@pytest.mark.parametrize(
    ("script", "named"), [("echo 0123456789ab-dirty", "0123456789ab-dirty"), ("exit 128", "unknown")]
)
def test_a_checkout_asks_git(package: Path, script: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (package.parent / ".git").mkdir()
    git_that(package.parent, script, monkeypatch)
    assert commit(package) == named


def test_without_git_the_commit_is_unknown(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package.parent / ".git").mkdir()
    monkeypatch.setenv("PATH", str(package))
    assert commit(package) == "unknown"


def test_a_repository_around_an_unpacked_archive_is_not_asked(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package.parents[1] / ".git").mkdir()
    git_that(package.parent, "echo 0123456789ab", monkeypatch)
    assert commit_of_checkout(package.parent) is None
    assert commit(package) == "unknown"
