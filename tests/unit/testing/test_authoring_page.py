"""``docs/authoring.md`` works as it stands: its files are written out, and its tests run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_yaml
from intentc.logic.dependencies.check import findings
from intentc.plugins import load_all
from intentc.testing import load, service_for

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "authoring.md").read_text()
FILE = re.compile(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONFTEST = 'import pytest\n\n\n@pytest.fixture\ndef anyio_backend():\n    return "asyncio"\n'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, importable."""
    for name, text in FILE.findall(PAGE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "farming", raising=False)
    return tmp_path


@pytest.fixture
def compiler(package: Path) -> Any:
    import farming  # type: ignore[import-not-found]

    return farming.compiler


def test_the_page_has_schema_intent_map_test_and_golden_case() -> None:
    assert [name for name, _ in FILE.findall(PAGE)] == [
        "schemas/farming/farm.yml",
        "schemas/farming/field_plan.yml",
        "farming.py",
        "reactions.yml",
        "test_farming.py",
        "golden/suppliers.in.yaml",
        "golden/suppliers.out.yaml",
    ]


def test_its_tests_pass(package: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(package)))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package)]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, timeout=120)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


async def test_its_golden_case_holds(package: Path, compiler: Any) -> None:
    service = service_for(compiler)
    await service.create(load("golden/suppliers.in.yaml", package))
    shown = ("kind", "fq_name", "crops", "suppliers")
    found = [{field: entry[field] for field in shown if field in entry} for entry in service.offline.outputs()]
    assert found == load_yaml(package / "golden" / "suppliers.out.yaml").value


def test_its_map_passes_the_check(compiler: Any) -> None:
    loaded = load_all((compiler,))
    assert findings(loaded.reactions, loaded.schema) == []
    assert len(list(loaded.reactions)) == 2


def test_its_entry_point_names_the_compiler(compiler: Any) -> None:
    toml = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert toml is not None
    (entry,) = tomllib.loads(toml[1])["project"]["entry-points"]["intentc.compilers"].items()
    assert entry == (compiler.name, "farming:compiler")
