"""``intentc why``: explains why an object exists or does not, as a tree or as a document.

The running compiler answers (``GET /why``); ``why_tree`` draws the tree.

It asks the diagnostics, and prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import click

from ..errors import Exit
from ..options import configured, output_option

if TYPE_CHECKING:
    from intentc.loading.configuration import Loaded

_PAGE = 500
"""Parts in one answer of the running compiler."""


@click.command(name="why")
@click.argument("kind")
@click.argument("name")
@click.option(
    "--part",
    default="",
    help="Only parts (fields, rules, references) with this text in their names or values.",
)
@click.option("--all", "everything", is_flag=True, help="Show every part, all reads, and the history.")
@output_option
@configured()
def command(kind: str, name: str, part: str, everything: bool, output: str, loaded: Loaded) -> int:
    """Explain why the resource of KIND with NAME is as it is, or why there is none (queries the running compiler).

    NAME: the fq_name joined by ':', a unique end of it, or the uuid. For compiled resources: the resources and fields
    that each part follows from, the cause of the last evaluation, and the writer. For users' resources: what follows
    from them, and what they wait for. Exit code 1 if there is no such object, or no such part.

    Names of another program work, too, with the program in place of KIND: for Envoy
    `intentc why envoy cluster.NAME.upstream_rq_5xx`.
    """
    if not name:
        raise click.UsageError(
            "NAME is empty: give the fq_name, a unique end of it, or the uuid", click.get_current_context()
        )
    return anyio.run(_why, kind, name, part, everything, output, loaded)


async def _why(kind: str, name: str, part: str, everything: bool, output: str, loaded: Loaded) -> int:
    from ..output import print_document

    answer = await _answer(kind, name, part, everything, loaded)
    if output == "table":
        from ..why_tree import print_tree

        print_tree(answer, part=part, everything=everything)
    else:
        print_document(output, answer, (), ())
    found = answer["exists"] and (answer["parts"] or not part)
    return Exit.DONE if found else Exit.DIFFERENT


async def _answer(kind: str, name: str, part: str, everything: bool, loaded: Loaded) -> dict[str, Any]:
    """The compiler's answer; with all its parts if ``everything`` is set."""
    from ..waiting import asked

    where = loaded.configuration.intentc.diagnostics
    parameters = {"kind": kind, "name": name, "part": part}
    answer = await asked(where, "/why", {**parameters, **({"limit": str(_PAGE)} if everything else {})})
    parts = answer["parts"]
    while everything and len(parts) < answer["parts_total"]:
        page = await asked(where, "/why", {**parameters, "limit": str(_PAGE), "offset": str(len(parts))})
        if not page["parts"]:
            break
        parts += page["parts"]
    return answer
