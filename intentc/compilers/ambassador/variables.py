"""Variables in values (``$VAR``, ``${VAR}``): Emissary replaces them from its environment, and we don't.

What a Mapping's author could read from the gateway's environment is nobody's to decide but the gateway's; so the text
stays as it is, and the resource has a problem that says so.
"""

from __future__ import annotations

import re

from intentc import Context, View

_VARIABLE = re.compile(r"(?<!\\)\$(?:\{[A-Za-z_][0-9A-Za-z_]*\}|[A-Za-z_][0-9A-Za-z_]*)")
_FOR_PEOPLE = "docs"


def report_variables(resource: View, ctx: Context) -> None:
    """A problem for each field of ``resource`` whose text has what Emissary takes for a variable."""
    for field, text in resource.texts_with("$"):
        found = _VARIABLE.search(text)
        if found and field.partition(".")[0] != _FOR_PEOPLE:
            ctx.problem(
                "VariableNotReplaced",
                f"{field} has {found[0]}, which stays as it is: variables are not replaced; write the value itself",
            )
