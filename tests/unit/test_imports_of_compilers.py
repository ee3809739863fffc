"""Compilers import what is listed here, and nothing else: the author's API, their own package, and pure modules.

An evaluation has no clock, no randomness and no I/O (docs/engine.md §4.4), so modules that offer these are not listed.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import intentc

COMPILERS = Path(intentc.__file__).parent / "compilers"
PACKAGES = sorted(path for path in COMPILERS.iterdir() if (path / "__init__.py").exists())
STANDARD = {
    "__future__", "base64", "binascii", "collections", "collections.abc", "difflib", "enum", "functools", "hashlib",
    "ipaddress", "itertools", "operator", "re", "types", "typing", "warnings",
}  # fmt: skip
OTHERS = {"msgspec", "cryptography"}
"""Packages from PyPI: values and their conversion; certificates."""
SHARED = {"intentc.model.hostname_patterns", "intentc.model.tls_secrets"}
"""Pure functions that several compilers share, or the programs that serve their objects."""
NAMES = {"uuid": {"UUID", "uuid5"}}
"""Pure functions of modules whose other functions use chance or the machine."""


def rejected(source: str, depth: int) -> Iterator[str]:
    """What a module imports without permission. ``depth``: how many packages up its compiler's package is, 1 for a
    module directly in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if not is_listed(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.level:
            if node.level > depth:
                yield "." * node.level + (node.module or "")
        elif isinstance(node, ast.ImportFrom) and node.module == "intentc":
            yield from (f"intentc.{alias.name}" for alias in node.names if alias.name not in intentc.__all__)
        elif isinstance(node, ast.ImportFrom) and node.module in NAMES:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name not in NAMES[node.module])
        elif isinstance(node, ast.ImportFrom) and not is_listed(node.module or ""):
            yield node.module or ""
        elif isinstance(node, ast.Name) and node.id == "__import__":
            yield node.id


def is_listed(module: str) -> bool:
    return module in STANDARD | SHARED or module.partition(".")[0] in OTHERS


def test_the_compilers_that_ship_are_there() -> None:
    assert {"ambassador", "contrail"} <= {package.name for package in PACKAGES}
    assert STANDARD - {"collections.abc"} <= sys.stdlib_module_names


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_compiler_imports_only_what_is_listed(package: Path) -> None:
    found = {
        f"{path.relative_to(package)}: {name}"
        for path in sorted(package.rglob("*.py"))
        for name in rejected(path.read_text(), len(path.relative_to(package).parts))
    }
    assert found == set()


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "import os.path",
        "from time import monotonic",
        "from uuid import uuid4",
        "from intentc.model import Key",
        "import intentc.model",
        "from intentc import model",
        "from ..contrail import routes",
        "def f():\n    from datetime import datetime",
        "__import__('os')",
    ],
)
def test_an_import_that_is_not_listed_is_found(line: str) -> None:
    assert len(list(rejected(line, 1))) == 1


@pytest.mark.parametrize(
    "line",
    ["from intentc import Intent", "from . import hosts", "import msgspec", "import re", "from uuid import uuid5"],
)
def test_an_import_that_is_listed_is_not(line: str) -> None:
    assert list(rejected(line, 1)) == []
