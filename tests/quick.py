"""Runs the tests that a change can break, nearest first, for at most a minute (``make quick``).

A test module is chosen if it imports a changed module, directly or through others, its ``conftest.py`` included; its
distance is the number of imports between them. A module of tests that has the name of a compiler as a string imports
it. Changed are files that differ from ``main`` (on ``main``: from the last commit), and those that git does not know
yet. Data that a compiler ships counts as a change of the compiler. What the minute leaves out is reported as skipped;
``make test`` runs it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 55.0
NEAR = ("tests/unit", "tests/golden", "tests/scenario", "tests/property", "tests/defects")
"""What needs no server."""
_IMPORT = re.compile(r"^\s*(?:from\s+(\.*[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([\w.]+))", re.MULTILINE)
_STRING = re.compile(r'"([a-z]+)"')
_DATA = re.compile(r"(?:config/schemas|reactions|tests/golden)/(\w+)")


def chosen(changed: Iterable[Path]) -> list[Path]:
    """The test modules that can break, nearest first."""
    files = [path.relative_to(ROOT) for folder in ("intentc", "tests") for path in (ROOT / folder).rglob("*.py")]
    modules = {_module(path): path for path in files}
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for module, path in modules.items():
        for imported in _imports(module, path):
            importers[imported].add(module)
    distances = {module: 0 for path in changed for module in _changed(path, modules)}
    waiting = deque(distances)
    while waiting:
        module = waiting.popleft()
        for importer in importers[module] - distances.keys():
            distances[importer] = distances[module] + 1
            waiting.append(importer)
    tests = [
        (distance, modules[module])
        for module, distance in distances.items()
        if modules[module].name.startswith("test_") and str(modules[module]).startswith(NEAR)
    ]
    return [path for _, path in sorted(tests)]


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(module: str, path: Path) -> Iterator[str]:
    """The modules of this repository that a module names in its imports, or whose fixtures a test may use."""
    if path.name.startswith("test_"):
        yield from (_module(folder / "conftest.py") for folder in path.parents)
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    text = (ROOT / path).read_text()
    if module.startswith("tests."):
        yield from (f"intentc.compilers.{name}" for name in _STRING.findall(text))
    for base, names, plain in _IMPORT.findall(text):
        dots = len(base) - len(base.lstrip("."))
        above = package[: len(package) - dots + 1] if dots else []
        whole = plain or ".".join([*above, *filter(None, [base.lstrip(".")])])
        if whole.split(".")[0] in ("intentc", "tests"):
            yield whole
            yield from (f"{whole}.{name}" for name in re.findall(r"\w+", names))


def _changed(path: Path, modules: dict[str, Path]) -> list[str]:
    """The modules that a changed file is, or whose data it is. A ``conftest.py`` is its directory's tests'."""
    if path.suffix == ".py":
        beside = path.parent if path.name == "conftest.py" else None
        return [module for module, one in modules.items() if one == path or (beside and beside in one.parents)]
    if found := _DATA.match(str(path)):
        package = f"intentc.compilers.{found[1]}"
        return [package] if package in modules else []
    return [module for module, one in modules.items() if one.parent == Path("tests/unit")]


def changes() -> list[Path]:
    """The files that differ from ``main`` or from the last commit, and those that are new."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    base = git("merge-base", "HEAD", "main").strip()
    if base == git("rev-parse", "HEAD").strip() and not git("status", "--porcelain").strip():
        base = "HEAD~1"
    named = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in named.splitlines()]


class Minute:
    """Skips the tests that are left when the time is over."""

    def __init__(self) -> None:
        self._ends_at = time.monotonic() + SECONDS

    def pytest_runtest_setup(self) -> None:
        if time.monotonic() > self._ends_at:
            pytest.skip("the minute is over; `make test` runs it")


def main() -> int:
    tests = chosen(changes())
    print(f"{len(tests)} test modules import what changed")
    return int(pytest.main(["-q", *map(str, tests)], plugins=[Minute()])) if tests else 0


if __name__ == "__main__":
    sys.exit(main())
