"""Every fault of every file is reported at once; ``compile --keep-going`` compiles the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.cli.command_error import Exit
from tests.unit.cli.running import Intentc

FIRST = """resources:
- kind: project
  data: {fq_name: [default-domain, p], parent_type: domain}
- kind: securty_group
  data: {fq_name: [default-domain, p, x]}
- kind: security_group
  data: {fq_name: [default-domain, p, ok], parent_type: project}
- kind: security_group
  data: {fq_name: 5}
"""
SECOND = """resources:
- kind: security_group
  data: {fq_name: [default-domain, p, odd], parent_type: project, nonsense: 1}
- kind: virtual_network
  data: {fq_name: [default-domain, nowhere, n], parent_type: project}
- kind: virtual_network
  data: {fq_name: [default-domain, p, m], parent_type: project, virtual_network_properties: 7}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    given = tmp_path / "a.yml", tmp_path / "b.yml", tmp_path / "c.yml"
    for file, text in zip(given, (FIRST, SECOND, "a: ["), strict=True):
        file.write_text(text)
    return given


@pytest.mark.parametrize("command", ["compile", "apply", "plan"])
def test_all_faults_of_all_files_are_reported_at_once(
    intentc: Intentc, files: tuple[Path, Path, Path], command: str
) -> None:
    ended = intentc(command, *map(str, files))
    first, second, third = files
    assert ended.code == Exit.INVALID
    for fault in (f"{third}:", f"{first}:4: unknown kind", f"{first}:9: `fq_name`", f"{second}:3: ", f"{second}:7: "):
        assert fault in ended.err, ended.err
    assert "5 faults in the input" in ended.err


def test_everything_that_admission_rejects_is_reported_at_once(
    intentc: Intentc, files: tuple[Path, Path, Path]
) -> None:
    ended = intentc("compile", str(files[1]))
    assert ended.code == Exit.INVALID
    assert "3 faults in the input" in ended.err
    assert f"{files[1]}:4: virtual_network default-domain:nowhere:n: there is no project" in ended.err


def test_compile_keeps_going_on_request(intentc: Intentc, files: tuple[Path, Path, Path]) -> None:
    ended = intentc("compile", "--keep-going", *map(str, files))
    assert ended.code == Exit.HELD
    assert "default-domain:p:ok:ingress-access-control-list" in ended.out
    assert ended.err.count("left out: ") == 6
