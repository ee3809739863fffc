"""The nodes of a syntax tree, as ``ast.iter_child_nodes`` and ``ast.walk`` give them, without those that name nothing.

Contexts and operators are a third of the million nodes that a look at a whole package visits.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

_NAMES_NOTHING = frozenset(("ctx", "kind", "op", "ops", "type_comment", "type_ignores"))
_LEAVES = ("Constant", "Name", "alias")


_FIELDS: dict[str, tuple[str, ...]] = {}
"""Class of nodes → the fields that are looked at."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below ``node``, in the order of the source."""
    found: list[ast.AST] = []
    of = type(node).__name__
    if of not in _FIELDS:
        _FIELDS[of] = tuple(field for field in node._fields if field not in _NAMES_NOTHING and of not in _LEAVES)
    for field in _FIELDS[of]:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and all nodes below it, level by level."""
    waiting = deque([node])
    while waiting:
        each = waiting.popleft()
        yield each
        waiting.extend(children(each))
