"""``docs/authoring.md`` can be followed: its files are written out, its package is built, and its commands run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from intentc.loading.yaml import load_yaml
from intentc.logic.dependencies.map_check import findings
from intentc.plugins import load_all
from intentc.testing import FakeCluster, load, service_for
from tests.support.app.compiler import compiler as app

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "authoring.md").read_text()
FILE = re.compile(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ (\w+ .+|pytest)$", PAGE, re.MULTILINE)
PRINTED = re.compile(r"^```console\n\$ intentc compile [^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)

APP = ROOT / "tests" / "support" / "app" / "compiler.py"
EXCERPT = re.compile(r"^```python\n(    .*?)^```", re.MULTILINE | re.DOTALL)
CLUSTER_TEST = re.compile(r"^```python\n(async def test_the_deployment.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, importable."""
    for name, text in FILE.findall(PAGE):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "farming", raising=False)
    return tmp_path


@pytest.fixture
def compiler(package: Path) -> Any:
    import farming  # type: ignore[import-not-found]

    return farming.compiler


def test_the_page_has_schema_intent_map_test_and_golden_case() -> None:
    assert [name for name, _ in FILE.findall(PAGE)] == [
        "farming/schemas/farming/farm.yml",
        "farming/schemas/farming/field_plan.yml",
        "farming/__init__.py",
        "farming/reactions.yml",
        "pyproject.toml",
        "conftest.py",
        "test_farming.py",
        "golden/suppliers.in.yaml",
        "golden/suppliers.out.yaml",
    ]


def test_the_page_lists_its_files() -> None:
    (listed,) = re.findall(r"^```\n(pyproject\.toml\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert sorted(listed.split()) == sorted(name for name, _ in FILE.findall(PAGE))


def test_its_commands_stand_in_an_order_that_works() -> None:
    """The package is installed before anything asks for it, pytest before it runs."""
    assert COMMANDS == [
        "pip install --editable .",
        "intentc check --compiler farming",
        "pip install pytest pytest-mock",
        "pytest",
        "intentc compile --compiler farming golden/suppliers.in.yaml -o yaml",
    ]


def test_its_package_has_its_data_and_its_commands_run(package: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The commands import the package from the built wheel: a schema that the wheel lacks would be found missing."""
    built, installed = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(build, cwd=package, check=True, capture_output=True)
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(installed)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(installed)))}
    environment.pop("INTENTC_CONFIG_FILE", None)
    printed = {}
    for command in COMMANDS:
        name, *arguments = shlex.split(command)
        if name != "intentc":
            continue
        called = [sys.executable, "-P", "-m", "intentc.cli", *arguments]
        done = subprocess.run(called, cwd=package, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        printed[arguments[0]] = done.stdout
    assert printed["compile"] == PRINTED.findall(PAGE)[0]


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


def test_the_excerpts_about_a_cluster_are_those_of_the_app() -> None:
    (chapter,) = re.findall(r"^## 10\. .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    excerpts = EXCERPT.findall(chapter)
    assert len(excerpts) == 3
    for excerpt in excerpts:
        assert excerpt in APP.read_text()


async def test_the_test_with_a_cluster_passes() -> None:
    names: dict[str, Any] = {
        "FakeCluster": FakeCluster,
        "HERE": ROOT / "tests" / "golden" / "app",
        "compiler": app,
        "load": lambda name, folder: load(name.replace("web.yaml", "migrated.in.yaml"), folder),
        "service_for": service_for,
    }
    (text,) = CLUSTER_TEST.findall(PAGE)
    exec(text, names)
    await names["test_the_deployment_waits_for_the_job"]()
