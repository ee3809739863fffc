"""No test depends on how fast the machine is: waits have generous ends, and nobody asserts how long something took.

What is looked for is the form: a literal end below ``SHORTEST`` seconds, and an assertion that bounds elapsed time from
above. Tests in virtual time are left out, and what only a full run of the faults demands (``in_full``).
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path("tests")
SHORTEST = 60.0
VIRTUAL = {"tests/unit/leading", "tests/simulation", "tests/property"}
CLOCKS = {"monotonic", "perf_counter", "current_time"}
WAITS = {"fail_after": 0, "wait_for": 1, "communicate": 9, "run": 9, "join": 0, "HTTPConnection": 9, "AsyncClient": 9}
"""Calls that give up, and the place of the argument that says when; it may be called ``timeout`` as well."""


@functools.cache
def modules() -> list[tuple[Path, ast.Module]]:
    """Those that wait or look at a clock at all."""
    about = re.compile("|".join([*CLOCKS, "fail_after", "timeout", "wait_for"]))
    paths = [path for path in sorted(TESTS.rglob("*.py")) if not VIRTUAL & {str(parent) for parent in path.parents}]
    texts = [(path, path.read_text()) for path in paths]
    return [(path, ast.parse(text)) for path, text in texts if about.search(text)]


def test_every_wait_for_a_condition_is_long_enough() -> None:
    short = [
        f"{path}:{call.lineno}: ends after {end:g} s; use tests.support.waiting.PATIENCE"
        for path, module in modules()
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and (end := _end(call)) is not None and end < SHORTEST
    ]
    assert short == []


def test_nobody_asserts_how_long_something_took() -> None:
    found = [
        f"{path}:{line}: a busy machine takes longer; wait for a condition, or set the clock"
        for path, module in modules()
        for line in sorted(_bounds_of_time(module))
    ]
    assert found == []


def _end(call: ast.Call) -> float | None:
    """The literal number of seconds after which it gives up, if it has one."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = WAITS.get(name)
    if place is None:
        return None
    named = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    for argument in [*named, *call.args[place : place + 1]]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, int | float):
            return float(argument.value)
    return None


def _bounds_of_time(module: ast.Module) -> set[int]:
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {line for function in functions for line in _in(function)}


def _in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    elapsed = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and _reads_a_clock(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            sides = [node.test.left, *node.test.comparators]
            for left, operator, right in zip(sides, node.test.ops, sides[1:], strict=False):
                small = left if isinstance(operator, ast.Lt | ast.LtE) else right
                if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and _is_elapsed(small, elapsed):
                    yield node.lineno


def _is_elapsed(side: ast.expr, elapsed: set[str]) -> bool:
    difference = isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub) and _reads_a_clock(side.left)
    return difference or (isinstance(side, ast.Name) and side.id in elapsed)


def _reads_a_clock(expression: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS
        for node in ast.walk(expression)
    )
