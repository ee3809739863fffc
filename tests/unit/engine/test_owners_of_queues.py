"""Each queue of the engine has one owner, and no step calls the engine back."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


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
