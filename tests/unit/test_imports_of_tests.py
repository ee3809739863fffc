"""No test imports another module of tests: what several of them use stands beside them, or in ``tests/support``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(r"^\s*(?:from|import)\b[^\n(]*(?:\([^)]*)?\btest_", re.MULTILINE)
"""What may import one: most modules need not be parsed."""


def imported_tests(text: str) -> list[str]:
    """The modules of tests that ``text`` imports, as it names them."""
    if IMPORT.search(text) is None:
        return []
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(alias.name for alias in node.names if _is_ours(node))]
        else:
            continue
        found += [name for name in names if name.rpartition(".")[2].startswith("test_")]
    return found


def _is_ours(node: ast.ImportFrom) -> bool:
    """Whether it imports from this repository's tests."""
    return bool(node.level) or (node.module or "").split(".")[0] == "tests"


def test_no_test_imports_another_test_module() -> None:
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (names := imported_tests(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "from tests.unit.engine.test_engine import running",
        "from .test_engine import running",
        "from . import test_engine",
        "import tests.unit.engine.test_engine",
        "def f():\n    from tests.unit import (\n        test_words,\n    )",
    ],
)
def test_an_import_of_a_test_module_is_found(text: str) -> None:
    assert imported_tests(text)


@pytest.mark.parametrize(
    "text", ["from pytest import test_x", "from tests.support.waiting import PATIENCE", "test_x = 1"]
)
def test_an_import_of_anything_else_is_none(text: str) -> None:
    assert imported_tests(text) == []
