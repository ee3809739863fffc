"""What keeps the code base readable: sizes of files, names of modules, docstrings, where kinds are known.

Import-linter checks which package may import which (``.importlinter``).
"""

from __future__ import annotations

import ast
import importlib
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "intentc"
TESTS = ROOT / "tests"
GENERATED = {PACKAGE / "watch" / "rpc_pb2.py"}

MAXIMUM_LINES = 500
MEDIAN_LINES = 150
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
WHERE_KINDS_ARE_KNOWN = (PACKAGE / "compilers", PACKAGE / "apiserver" / "admission", PACKAGE / "bridges")


def modules(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*.py")) if path not in GENERATED)


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def declared_kinds() -> set[str]:
    """Kinds whose names no other word has: those of several words."""
    return {
        path.stem for path in (ROOT / "config" / "schemas").rglob("*.yml") if "_" in path.stem and path.stem != "types"
    }


def test_no_file_is_longer_than_can_be_read_in_one_go() -> None:
    too_long = {relative(path): lines(path) for path in modules(PACKAGE, TESTS) if lines(path) > MAXIMUM_LINES}
    assert too_long == {}


def test_the_median_file_is_short() -> None:
    assert statistics.median(lines(path) for path in modules(PACKAGE) if lines(path)) <= MEDIAN_LINES


def test_no_module_is_named_after_nothing() -> None:
    names = {relative(path) for path in modules(PACKAGE, TESTS) if {path.stem, path.parent.name} & FORBIDDEN_NAMES}
    assert names == set()


def test_every_module_says_why_it_exists() -> None:
    silent = {
        relative(path)
        for path in modules(PACKAGE)
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    }
    assert silent == set()


def test_kinds_are_declared_for_this_test_to_look_for() -> None:
    assert len(declared_kinds()) > 20


@pytest.mark.parametrize("spelling", ["_", "-"])
def test_no_kind_is_known_by_name_outside_compilers_and_admission(spelling: str) -> None:
    names = "|".join(sorted(kind.replace("_", spelling) for kind in declared_kinds()))
    known = re.compile(rf"(?<![A-Za-z_-])(?:{names})(?![A-Za-z_-])")
    found = {
        f"{relative(path)}:{number}: {match.group()}"
        for path in modules(PACKAGE)
        if not any(path.is_relative_to(folder) for folder in WHERE_KINDS_ARE_KNOWN)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (match := known.search(line))
    }
    assert found == set()


def test_no_unfinished_work_is_left_behind() -> None:
    marks = re.compile(r"#\s*(?:TODO|FIXME|XXX)\b")
    found = {
        f"{relative(path)}:{number}"
        for path in modules(PACKAGE, TESTS)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    }
    assert found == set()


def test_what_a_module_exports_is_in_it() -> None:
    missing = []
    for path in modules(PACKAGE):
        if "\n__all__ = " in path.read_text():
            module = importlib.import_module(
                ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            )
            missing += [f"{relative(path)}: {name}" for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


def test_only_tests_arm_crash_points() -> None:
    """No option, environment variable or configuration of the product can kill it."""
    names = re.compile(r"\bcrashpoints\.(?!reach\b)\w+|from intentc\.crashpoints import")
    assert [relative(path) for path in modules(PACKAGE) if names.search(path.read_text())] == []


def test_the_lock_files_name_packages_and_hashes_only() -> None:
    for lock in (ROOT / "requirements.lock", ROOT / "requirements-dev.lock"):
        foreign = [line for line in lock.read_text().splitlines() if "://" in line or line.startswith("--")]
        assert foreign == [], lock.name


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_every_dependency_is_locked(lock: str) -> None:
    locked = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / lock).read_text(), re.MULTILINE))
    declared = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert declared is not None
    assert set(re.findall(r'"([a-z0-9-]+)', declared[1])) <= locked


@pytest.mark.parametrize("page", ["architecture.md", "benchmarks.md", "guarantees.md", "security.md"])
def test_pages_name_files_that_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    named = set(re.findall(r"`((?:tests|intentc|config|reactions|sample)/[\w./-]+?)/?`", text))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
