"""``intentc graph``: prints the reaction map, or the neighbourhood of an object, as text for drawing programs.

The map comes from the configuration's files, the neighbourhood from the running compiler. ``intentc.cli.drawing``
formats nodes and arrows.

It reads the configuration's and compilers' files, or asks the diagnostics; it prints. It sets the process's garbage
collection and evaluation watchdog as the service does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..errors import CommandError, Exit
from ..options import compilers_option, configured, with_compilers
from ..process import run_service

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration, Loaded

_FORMS = ("mermaid", "dot", "json")


@click.command(name="graph")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--depth", type=click.IntRange(1, 4), default=1, show_default=True, help="Steps away from the object.")
@click.option("--kinds", metavar="A,B", default="", help="Only these kinds around the object.")
@click.option("-o", "--output", type=click.Choice(_FORMS), default="mermaid", show_default=True)
@compilers_option
@configured()
def command(
    kind: str | None,
    name: str | None,
    depth: int,
    kinds: str,
    output: str,
    compilers: tuple[str, ...],
    loaded: Loaded,
) -> int:
    """Draw the reaction map: the kinds that a change of each kind reaches. An arrow is labelled with the causes of the
    walk; kinds with a thick border are compiled.

    With KIND NAME (fq_name joined by ":", a unique end of it, or the uuid): the neighbourhood of that object in the
    running system, with its relations, outputs, and facts. Thick arrows were written by compilers.

    `intentc graph | mmdc -i - -o map.svg`, or `intentc graph -o dot | dot -Tsvg > map.svg`, makes a picture.
    """
    if kind and not name:
        raise click.UsageError("give a name, too: KIND NAME", click.get_current_context())
    configuration = with_compilers(loaded.configuration, compilers)
    if kind and name:
        return run_service(_around, kind, name, depth, kinds, output, configuration)
    _print_map(output, configuration)
    return Exit.DONE


def _print_map(output: str, configuration: Configuration) -> None:
    from intentc.cli.drawing import Arrow, Node
    from intentc.logic.dependencies.check import layers
    from intentc.logic.dependencies.reactions import edges
    from intentc.plugins import installed

    compilers = installed(configuration)
    named = layers(compilers.reactions)
    found = edges(compilers.reactions)
    if output == "json":
        _print_json(
            {
                "kinds": [
                    {"kind": kind, "layer": layer, "compiled": kind in compilers.intents}
                    for kind, layer in named.items()
                ],
                "edges": [{**edge._asdict(), **declared._asdict()} for edge, declared in found.items()],
            }
        )
        return
    causes: dict[tuple[str, str], list[str]] = {}
    for edge, declared in found.items():
        cause = f"{edge.cause} (all)" if declared.everyone else edge.cause
        causes.setdefault((edge.kind, edge.to), []).append(cause)
    _print_drawing(
        output,
        [Node(kind, [kind], layer, kind in compilers.intents) for kind, layer in named.items()],
        [Arrow(start, end, ", ".join(labels)) for (start, end), labels in causes.items()],
        "reaction map",
    )


async def _around(kind: str, name: str, depth: int, kinds: str, output: str, configuration: Configuration) -> int:
    from ..waiting import asked

    parameters = {"kind": kind, "name": name, "depth": str(depth)} | ({"kinds": kinds} if kinds else {})
    where = configuration.intentc.diagnostics
    try:
        found = await asked(where, "/neighbourhood", parameters)
    except CommandError as error:
        # A missing object is no usage error: exit as `why` does.
        if error.code is not Exit.USAGE or (await asked(where, "/why", {"kind": kind, "name": name}))["exists"]:
            raise
        raise CommandError(error.what, where=error.where, next_step=error.next_step, code=Exit.DIFFERENT) from None
    if found["cut"]:
        click.echo(f"more than the {len(found['nodes'])} shown exist; narrow it with --depth or --kinds", err=True)
    if output == "json":
        _print_json(found)
    else:
        _print_neighbourhood(output, found)
    return Exit.DONE


def _print_neighbourhood(output: str, found: Mapping[str, Any]) -> None:
    from intentc.cli.drawing import Arrow, Node

    nodes = [
        Node(node["id"], [node["kind"], node["name"]], marked=node["id"] == found["center"]) for node in found["nodes"]
    ]
    arrows = [Arrow(edge["from"], edge["to"], edge["relation"], edge["made"]) for edge in found["edges"]]
    (center,) = [node for node in found["nodes"] if node["id"] == found["center"]]
    _print_drawing(output, nodes, arrows, f"{center['kind']} {center['name']}")


def _print_drawing(output: str, nodes: list[Any], arrows: list[Any], title: str) -> None:
    from intentc.cli.drawing import dot, mermaid

    click.echo(mermaid(nodes, arrows) if output == "mermaid" else dot(nodes, arrows, title), nl=False)


def _print_json(content: Mapping[str, Any]) -> None:
    from ..output import print_document

    print_document("json", content, (), ())
