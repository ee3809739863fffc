"""What an installed package brings besides its code, and how its script for etcd is printed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from click.testing import CliRunner

from intentc.cli.commands.etcd_roles import command
from intentc.cli.version import commit

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "config" / "etcd-roles.sh"


def test_the_wheel_has_all_data_that_the_documents_call(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_COMMIT": "0123456789abcdef"},
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        assert content.read("intentc/data/etcd-roles.sh") == SCRIPT.read_bytes()
        names = set(content.namelist())
        metadata = content.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
        content.extractall(tmp_path / "installed")
    assert commit(tmp_path / "installed" / "intentc") == "0123456789abcdef"
    assert "License-File: LICENSE\n" in metadata
    assert {"intentc/data/reactions/contrail.yml", "intentc/data/sample/my-resources.yml"} <= names
    assert "intentc/data/sample/echo.py" in names
    assert any(name.startswith("intentc/data/schemas/contrail/") for name in names)


def test_the_script_of_roles_is_printed_as_it_is_and_runs_from_a_pipe() -> None:
    printed = CliRunner().invoke(command)
    assert printed.stdout == SCRIPT.read_text()
    ended = subprocess.run(["sh", "-s", "contrail"], input=printed.stdout, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "usage: etcd-roles.sh PATH INSTALLATION\n")
