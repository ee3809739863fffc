"""Code outside ``intentc/engine`` uses an engine's verbs and read-only values, never what is behind them.

An attribute of an attribute of an engine (``engine.x.y``) names two things that only the engine may know. A view
(``engine.world``) is handed on as a value; who uses it has it under a name of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINES = {"engine", "_engine", "parts", "_parts"}
"""What engines, and the locator that the steps once shared, are called."""
OTHER_PARTS = ROOT / "intentc" / "bridges" / "azure"
"""Where ``parts`` are those of a gateway; no module there knows an engine."""


def chains(source: str, engines: Set[str] = frozenset(ENGINES)) -> Iterator[tuple[int, str]]:
    """The attribute chains over an engine with at least three names, with their lines; each at its full length."""
    tree = ast.parse(source)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            names: list[str] = []
            value: ast.expr = node
            while isinstance(value, ast.Attribute):
                names.insert(0, value.attr)
                value = value.value
            if isinstance(value, ast.Name):
                names.insert(0, value.id)
            place = next((place for place, name in enumerate(names) if name in engines), len(names))
            if len(names) - place >= 3:
                yield node.lineno, ".".join(names)


def test_nobody_reaches_through_an_engine() -> None:
    files = [path for path in (ROOT / "intentc").rglob("*.py") if (ROOT / "intentc" / "engine") not in path.parents]
    assert len(files) > 500
    assert [
        f"{path.relative_to(ROOT)}:{line}: {chain}"
        for path in files
        for line, chain in chains(
            path.read_text(), ENGINES - {"parts"} if OTHER_PARTS in path.parents else frozenset(ENGINES)
        )
    ] == []


def test_chains_are_found_wherever_the_engine_stands() -> None:
    source = (
        "engine.world.named(1)\nself._engine.parts.jobs.add(2)\nstarted.service.engine.read_only.world\nengine.world\n"
    )
    assert sorted(chains(source)) == [
        (1, "engine.world.named"),
        (2, "self._engine.parts.jobs.add"),
        (3, "started.service.engine.read_only.world"),
    ]
    assert list(chains("engine.listed\nself.engine.settled()\nfrom intentc.engine.read_only import ReadOnly\n")) == []


def test_only_the_scheduler_touches_the_jobs_and_their_causes() -> None:
    """The queues of jobs and of objects have one owner each, also inside the engine."""
    made = {
        path.name: path.read_text().count("KeyedQueue(")
        for path in (ROOT / "intentc" / "engine").rglob("*.py")
        if "KeyedQueue(" in path.read_text()
    }
    assert made == {"scheduler.py": 1, "object_queue.py": 1, "allocations.py": 1}
    for owner, names in (("scheduler.py", ("_jobs", "_causes")), ("object_queue.py", ("_queue", "_waiters"))):
        for path in (ROOT / "intentc").rglob("*.py"):
            if path.name != owner:
                touched = [
                    node.attr
                    for node in ast.walk(ast.parse(path.read_text()))
                    if isinstance(node, ast.Attribute) and node.attr in names
                    and isinstance(node.value, ast.Attribute) and node.value.attr in ("_scheduler", "_objects")
                ]  # fmt: skip
                assert touched == [], path


def test_the_engine_gives_its_steps_no_method_of_its_own() -> None:
    """A step returns what others must know, or puts it into a queue; it calls nobody back."""
    tree = ast.parse((ROOT / "intentc" / "engine" / "engine.py").read_text())
    (engine,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    methods = {node.name: node for node in engine.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    built = [node for node in ast.walk(methods["__init__"]) if isinstance(node, ast.Call)]
    assert len(built) > 20
    given = [argument for call in built for argument in (*call.args, *(keyword.value for keyword in call.keywords))]
    assert not [ast.unparse(one) for one in given if isinstance(one, ast.Lambda)]
    assert not [ast.unparse(one) for one in given if isinstance(one, ast.Attribute) and one.attr in methods]
