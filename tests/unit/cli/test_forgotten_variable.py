"""A variable that names a configuration that is gone is named itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.command_error import Exit
from tests.unit.cli.running import Intentc


def test_the_variable_that_dev_printed_is_named_when_its_file_is_gone(
    intentc: Intentc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INTENTC_CONFIG_FILE", str(tmp_path / "gone.yml"))
    ended = intentc("compile", str(tmp_path))
    assert ended.code == Exit.INVALID
    assert "INTENTC_CONFIG_FILE names it" in ended.err
    assert "`unset INTENTC_CONFIG_FILE`" in ended.err


def test_a_file_that_was_typed_is_not_blamed_on_the_variable(
    intentc: Intentc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INTENTC_CONFIG_FILE", str(tmp_path / "gone.yml"))
    ended = intentc("--config-file", str(tmp_path / "other.yml"), "compile", str(tmp_path))
    assert "INTENTC_CONFIG_FILE" not in ended.err
