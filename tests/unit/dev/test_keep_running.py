"""The line by which ``intentc dev --exit-when-converged`` says how to keep it running."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from intentc.dev.command import keep_running


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment in the current folder, whose programs are not on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_the_environment_is_activated_where_intentc_is_not_on_the_path() -> None:
    assert keep_running(["a.yml"], (), None) == "source .venv/bin/activate; intentc dev --load a.yml"


def test_an_environment_elsewhere_is_named_by_its_whole_path(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (environment / "other").mkdir()
    monkeypatch.chdir(environment / "other")
    assert keep_running((), (), None) == f"source {environment}/.venv/bin/activate; intentc dev"


def test_on_the_path_nothing_is_activated_and_all_options_stay(environment: Path) -> None:
    program = environment / "bin" / "intentc"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert (
        keep_running(["a b.yml", "c.yml"], ("ambassador",), Path("own.yml"))
        == "intentc dev --load 'a b.yml' c.yml --compiler ambassador --config-file own.yml"
    )
