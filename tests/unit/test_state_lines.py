"""A module whose objects change after they are made says so: its docstring has a sentence that begins with ``State``.

What is compared is only what the source shows: a method other than a constructor assigns to an attribute of ``self``,
or adds to or removes from one. The reverse can't be read from the source (state may be in what an object was given, in
a generator or in a closure), so a module may say ``State`` without any such assignment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "intentc"
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
IN_PLACE = frozenset(("add", "append", "appendleft", "clear", "discard", "extend", "insert", "remove", "update"))
TAKING = frozenset(("pop", "popitem", "popleft", "setdefault"))
"""Methods of containers: those that return nothing, and others."""


def changed(source: str) -> list[str]:
    """The attributes that methods of a module's classes change, as ``Class.attribute``."""
    classes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return sorted({f"{each.name}.{attribute}" for each in classes for attribute in _changed_in(each)})


def _changed_in(node: ast.ClassDef) -> Iterator[str]:
    for method in node.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name not in CONSTRUCTORS:
            for part in ast.walk(method):
                yield from filter(None, map(_attribute, _targets(part)))


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from target.elts if isinstance(target, ast.Tuple) else [target]
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield target
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=container, attr=method))) if method in IN_PLACE:
            yield container
        case ast.Call(func=ast.Attribute(value=container, attr=method)) if method in TAKING:
            yield container


def _attribute(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript):
        node = node.value
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
            return attribute
    return None


def test_a_module_whose_objects_change_says_which_state_it_keeps() -> None:
    silent = {
        str(path.relative_to(PACKAGE.parent)): found
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.name.endswith("_pb2.py")
        if (found := changed(path.read_text()))
        if "State" not in (ast.get_docstring(ast.parse(path.read_text())) or "")
    }
    assert not silent, f"Say in each docstring, as `State: …`, what these attributes hold: {silent}"


@pytest.mark.parametrize(
    "body",
    [
        "self.a = 1",
        "self.a: int = 1",
        "self.a += 1",
        "self.a['b'] = 1",
        "b, self.a = 1, 2",
        "del self.a",
        "self.a.add(1)",
    ],
)
def test_a_change_after_construction_is_found(body: str) -> None:
    assert changed(f"class A:\n  def f(self):\n    {body}") == ["A.a"]


@pytest.mark.parametrize(
    "method",
    ["def __init__(self): self.a = 1", "def f(self): a = self.a", "async def f(self): await self.a.update(1)"],
)
def test_construction_and_use_are_no_change(method: str) -> None:
    assert changed(f"class A:\n  {method}") == []
