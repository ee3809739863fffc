"""What an installed package brings besides its code, and how its script for etcd is printed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from click.testing import CliRunner

from intentc.cli.etcd_roles import command

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "config" / "etcd-roles.sh"


def test_the_wheel_has_all_data_that_the_documents_call(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        assert content.read("intentc/data/etcd-roles.sh") == SCRIPT.read_bytes()
        names = set(content.namelist())
    assert {"intentc/data/reactions/contrail.yml", "intentc/data/sample/my-resources.yml"} <= names
    assert any(name.startswith("intentc/data/schemas/contrail/") for name in names)


def test_the_script_of_roles_is_printed_as_it_is_and_runs_from_a_pipe() -> None:
    printed = CliRunner().invoke(command)
    assert printed.stdout == SCRIPT.read_text()
    ended = subprocess.run(["sh", "-s", "contrail"], input=printed.stdout, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "usage: etcd-roles.sh PATH INSTALLATION\n")
