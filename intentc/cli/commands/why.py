"""``intentc why``: why an object exists or does not, from the running compiler, as a tree or as a document.

What the answer holds is the compiler's business (``GET /why``); how it is drawn is ``why_tree``'s.
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
"""Parts that the compiler gives at once."""


@click.command(name="why")
@click.argument("kind")
@click.argument("name")
@click.option(
    "--part",
    default="",
    help="Only parts (fields, rules, references) with this text in their names or in what they hold.",
)
@click.option("--all", "everything", is_flag=True, help="Every part, everything that was read, and the history.")
@output_option
@configured()
def command(kind: str, name: str, part: str, everything: bool, output: str, loaded: Loaded) -> int:
    """Tell why the resource of KIND with NAME is as it is, or why there is none (asks the running compiler).

    NAME: the fq_name joined by ':', a unique end of it, or the uuid. Of what compilers make: the resources and fields
    that each part follows from, what led to the last evaluation, and who wrote it. Of what users write: what follows
    from it, and what it waits for. Ends with 1 if there is no such object, or no such part.

    Of what another program uses, NAME may be what that calls it, with its word in place of KIND: for an Envoy
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
    """The compiler's answer; all its parts, if ``everything`` is wanted."""
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
