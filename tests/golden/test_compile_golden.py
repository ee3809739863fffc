"""Every golden pair, through the whole of ``intentc compile``: loading, admission, engine, planning, printing."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.entry import run
from intentc.loading.yaml import load_yaml
from tests.golden.cases import Case, cases
from tests.golden.projection import projected

CASES = list(cases("contrail"))
ADMITTED = [case for case in CASES if not case.topic.endswith("_as_stored")]
REFUSED = [case for case in CASES if case.topic.endswith("_as_stored")]
"""Values that may be in etcd, but that today's server would not let in."""


@pytest.mark.parametrize("case", ADMITTED, ids=lambda case: case.name)
def test_a_compile_prints_the_expected_output(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = compiled(case.given, capsys)
    assert (code, err) == (0, "")
    assert projected(load_yaml(out).value) == case.document()


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_the_server_refuses_a_compile_refuses_too(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = compiled(case.given, capsys)
    assert (code, out) == (3, "")
    assert "security_group default-domain:blue:g" in err


def compiled(given: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)"""
    code = run(["compile", str(given), "-o", "yaml"])
    return code, *capsys.readouterr()
