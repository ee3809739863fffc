"""Docstrings say what each package and module touches outside memory, and what they say is what the code can do.

The last paragraph of a docstring says it, in the words of ``tests.support.touching``, which this test writes out where
one is missing or wrong::

    Touches: nothing outside memory.
    Touches: clock, logs.
    Touches: clock; through others: etcd, files.

A package's line is of all its modules together, without those of packages in it. A module has a line of its own unless
its package's is true of it. docs/architecture.md explains the words, and lists the packages.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.touching import MEANINGS, Touching

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
LINE = re.compile(r"^Touches:.*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


@cache
def touching() -> Touching:
    return Touching(ROOT / "intentc")


def file_of(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def package_of(module: str) -> str:
    return module if file_of(module).name == "__init__.py" else module.rpartition(".")[0]


def line(own: set[str], through: set[str]) -> str:
    others = f"through others: {', '.join(sorted(through, key=str.lower))}" if through else ""
    if not own:
        return f"Touches: nothing itself; {others}." if through else "Touches: nothing outside memory."
    return f"Touches: {'; '.join(filter(None, [', '.join(sorted(own, key=str.lower)), others]))}."


def true_lines() -> dict[str, str]:
    """Module → its line; package → the line of its modules together."""
    found = touching()
    lines = {}
    for module in found.own:
        together = [each for each in found.own if module in (each, package_of(each))]
        own = set().union(*(found.own[each] for each in together))
        lines[module] = line(own, set().union(*(found.all[each] for each in together)) - own)
    return lines


@cache
def said(module: str) -> str | None:
    docstring = ast.get_docstring(ast.parse(file_of(module).read_text())) or ""
    match = LINE.search(docstring)
    return " ".join(match[0].split()) if match else None


def examples(module: str) -> str:
    found = touching()
    return "".join(f"\n    {word}: {found.example(module, word)}" for word in sorted(found.all[module]))


def test_every_docstring_says_what_its_module_touches() -> None:
    wrong = [
        f"{file_of(module).relative_to(ROOT)}: its docstring must end with\n    {right}{examples(module)}"
        for module, right in true_lines().items()
        if (said(module) or said(package_of(module))) != right
    ]
    assert not wrong, "\n".join(["", *wrong])


def test_the_architecture_lists_what_each_package_touches() -> None:
    rows = [
        f"| `{module.replace('.', '/')}/` | {right.removeprefix('Touches: ').removesuffix('.')} |"
        for module, right in true_lines().items()
        if package_of(module) == module
    ]
    found = re.findall(r"^\| `intentc[\w/]*/` \| (?:.*) \|$", ARCHITECTURE.read_text(), re.MULTILINE)
    assert found == rows, f"the table of {ARCHITECTURE.relative_to(ROOT)} must be\n" + "\n".join(rows)


def test_the_architecture_explains_each_word() -> None:
    explained = re.findall(r"^- \*([\w ]+)\*:", ARCHITECTURE.read_text(), re.MULTILINE)
    assert sorted(explained) == sorted(MEANINGS)


def touched(tmp_path: Path, **modules: str) -> dict[str, str]:
    """The lines of a package ``box`` of these modules."""
    (tmp_path / "box").mkdir()
    for name, text in modules.items():
        (tmp_path / "box" / f"{name}.py").write_text(text)
    found = Touching(tmp_path / "box")
    return {
        name: line(found.own[f"box.{name}"], found.all[f"box.{name}"] - found.own[f"box.{name}"]) for name in modules
    }


CLOCK = """
import time
from typing import Protocol

def now(): return time.time()

class Watch:
    name = "w"
    def read(self): return now()
    def wind(self): pass

class Reads(Protocol):
    def read(self): ...
    def wind(self): ...

def shop() -> dict[str, Watch]: return {}
"""


@pytest.mark.parametrize(
    "caller",
    [
        pytest.param("def f(): return clock.now()", id="of a function"),
        pytest.param("def f(watch: clock.Watch): return watch.read()", id="of a parameter's method"),
        pytest.param(
            "class A:\n  def __init__(self, w: clock.Watch): self.w = w\n  def f(self): self.w.read()", id="attribute"
        ),
        pytest.param("def f():\n  for watch in clock.shop().values(): watch.read()", id="of an element's method"),
        pytest.param("def f(reads: clock.Reads): return reads.read()", id="of a protocol's method"),
        pytest.param("def f(g): return g(clock.now)", id="of a function that is handed over"),
    ],
)
def test_a_module_touches_through_others_what_a_call_touches(tmp_path: Path, caller: str) -> None:
    lines = touched(tmp_path, clock=CLOCK, caller=f"from . import clock\n{caller}")
    assert lines == {"clock": "Touches: clock.", "caller": "Touches: nothing itself; through others: clock."}


@pytest.mark.parametrize("caller", ["", "def f(watch: clock.Watch): return watch.name", "def f(now): return now()"])
def test_an_import_a_type_and_a_given_function_touch_nothing(tmp_path: Path, caller: str) -> None:
    lines = touched(tmp_path, clock=CLOCK, caller=f"from . import clock\n{caller}")
    assert lines["caller"] == "Touches: nothing outside memory."


def test_a_default_is_touched_by_the_module_itself(tmp_path: Path) -> None:
    lines = touched(tmp_path, caller="import time\ndef f(now=time.time): return now()")
    assert lines == {"caller": "Touches: clock."}
