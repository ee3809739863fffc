"""A golden file that differs fails with a diff, and is written with the switch alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_yaml
from tests.golden.comparing import Golden
from tests.support.golden.cases import Case, written

FORMER: dict[str, Any] = {"apiVersion": "intentc/v1", "resources": [{"kind": "a", "port": 1}], "problems": []}
FOUND: dict[str, Any] = {**FORMER, "resources": [{"kind": "a", "port": 2}]}


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """One whose golden file holds ``FORMER``."""
    expected = tmp_path / "case.out.yaml"
    expected.write_text(written(FORMER))
    return Case("contrail/topic/case", tmp_path / "case.in.yaml", expected)


def test_what_agrees_is_left_as_it_is(case: Case) -> None:
    case.expected.write_text(f"# by hand\n{written(FORMER)}")
    before, rewritten = case.expected.read_text(), list[Path]()
    Golden(True, rewritten.append).check(case, FORMER, authority=True)
    assert (case.expected.read_text(), rewritten) == (before, [])


@pytest.mark.parametrize(("switch", "authority"), [(False, True), (True, False)])
def test_a_difference_fails_with_a_unified_diff(case: Case, switch: bool, authority: bool) -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        Golden(switch, list[Path]().append).check(case, FOUND, authority=authority)
    text = str(failed.value)
    assert "contrail/topic/case differs" in text and "--- case.out.yaml" in text
    assert "-  - {kind: a, port: 1}" in text and "+  - {kind: a, port: 2}" in text
    assert case.document() == FORMER


@pytest.mark.parametrize("exists", [True, False])
def test_with_the_switch_the_file_is_written_and_named(case: Case, exists: bool) -> None:
    if not exists:
        case.expected.unlink()
    rewritten: list[Path] = []
    Golden(True, rewritten.append).check(case, FOUND, authority=True)
    assert load_yaml(case.expected).value == FOUND
    assert rewritten == [case.expected]
