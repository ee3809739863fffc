"""Docstrings say what each package and module touches outside memory, and what they say is what the code can do.

The last paragraph of a docstring says it, in the words of ``tests.support.touching``, which this test writes out where
one is missing or wrong::

    Touches: nothing outside memory.
    Touches: clock, logs.
    Touches: clock; through others: etcd, files.

A package's line is of all its modules together, without those of packages in it. A module has a line of its own unless
its package's is true of it. docs/architecture.md explains the words, and lists the packages.
``python -m tests.support.touching_lines`` writes all of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.touching import MEANINGS, Touching
from tests.support.touching_lines import ARCHITECTURE, ROOT, Lines, line

REWRITE = "`python -m tests.support.touching_lines` writes them"


@pytest.fixture(scope="module")
def lines() -> Lines:
    """Not kept any longer: a million nodes slow down each later collection of garbage."""
    return Lines()


def test_every_docstring_says_what_its_module_touches(lines: Lines) -> None:
    wrong = [
        f"{lines.file_of(module).relative_to(ROOT)} must say\n    {right}{lines.examples(module)}"
        for module, right in lines.true.items()
        if lines.said(module) != right
    ]
    assert not wrong, "\n".join([f"The last lines of docstrings are wrong. {REWRITE}.", *wrong])


def test_the_architecture_lists_what_each_package_touches(lines: Lines) -> None:
    name = ARCHITECTURE.relative_to(ROOT)
    assert lines.table_said() == lines.table, f"The rows of {name} must be as follows. {REWRITE}.\n{lines.table}"


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
import httpx2, time
from typing import Protocol

def now(): return time.time()

class Watch:
    name = "w"
    def read(self): return now()
    def wind(self): pass

class Reads(Protocol):
    name: str
    def read(self): ...
    def wind(self): ...

class Winds(Protocol):
    def wind(self, turns): ...

class Crown(Winds):
    def wind(self, turns, slowly=False): return now()

class Alarm(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request): return now()

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
        pytest.param("def f(winds: clock.Winds): winds.wind(2)", id="of a protocol's only method"),
        pytest.param("class A(clock.Crown):\n  def wind(self, t): super().wind(t)", id="of an inherited method"),
        pytest.param("def f(g): return g(clock.now)", id="of a function that is handed over"),
    ],
)
def test_a_module_touches_through_others_what_a_call_touches(tmp_path: Path, caller: str) -> None:
    lines = touched(tmp_path, clock=CLOCK, caller=f"from . import clock\n{caller}")
    assert lines == {"clock": "Touches: clock, HTTP.", "caller": "Touches: nothing itself; through others: clock."}


def test_what_another_package_calls_of_ours_counts_where_that_package_is_called(tmp_path: Path) -> None:
    imports = "from . import clock\nimport httpx2\n"
    makes = f"{imports}class A:\n  def __init__(self): self.web = httpx2.AsyncClient(clock.Alarm())"
    lines = touched(tmp_path, clock=CLOCK, caller=f"{makes}\n  def f(self): self.web.get('/')", maker=makes)
    assert lines["caller"] == "Touches: HTTP; through others: clock."
    assert lines["maker"] == "Touches: HTTP."


@pytest.mark.parametrize(
    "caller",
    [
        "",
        "def f(watch: clock.Watch): return watch.name",
        "def f(reads: clock.Reads): return reads.name",
        "def f(now): return now()",
    ],
)
def test_an_import_a_type_and_a_given_function_touch_nothing(tmp_path: Path, caller: str) -> None:
    lines = touched(tmp_path, clock=CLOCK, caller=f"from . import clock\n{caller}")
    assert lines["caller"] == "Touches: nothing outside memory."


def test_a_default_is_touched_by_the_module_itself(tmp_path: Path) -> None:
    lines = touched(tmp_path, caller="import time\ndef f(now=time.time): return now()")
    assert lines == {"caller": "Touches: clock."}


@pytest.mark.parametrize(
    "body, touches",
    [
        pytest.param("import socket\ndef f(): return socket.gethostname()", "environment", id="the machine's name"),
        pytest.param("import socket\ndef f(): return socket.socket()", "sockets", id="a socket"),
        pytest.param("import asyncio\nasync def f(): await asyncio.sleep(0)", "nothing outside memory", id="no wait"),
        pytest.param("import asyncio\nasync def f(): await asyncio.sleep(1)", "clock", id="a wait"),
    ],
)
def test_a_word_means_what_a_call_does(tmp_path: Path, body: str, touches: str) -> None:
    assert touched(tmp_path, caller=body) == {"caller": f"Touches: {touches}."}
