"""Reports variables in values (``$VAR``, ``${VAR}``): Emissary replaces them from its environment, intentc does not.

The author of a Mapping must not read the gateway's environment. So the text stays as it is, and the resource gets a
problem.

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

import re

from intentc import Context, View

_VARIABLE = re.compile(r"(?<!\\)\$(?:\{[A-Za-z_][0-9A-Za-z_]*\}|[A-Za-z_][0-9A-Za-z_]*)")
_FOR_PEOPLE = "docs"


def report_variables(resource: View, ctx: Context) -> None:
    """Reports a problem for each field of ``resource`` with what Emissary takes for a variable."""
    for field, text in resource.texts_with("$"):
        found = _VARIABLE.search(text)
        if found and field.partition(".")[0] != _FOR_PEOPLE:
            ctx.problem(
                "VariableNotReplaced",
                f"{field} has {found[0]}, which stays as it is: variables are not replaced; write the value itself",
            )
