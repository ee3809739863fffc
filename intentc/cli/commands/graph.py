"""``intentc graph``: prints the reaction map, or the neighbourhood of an object, as text for drawing programs.

The map comes from the configuration's files, the neighbourhood from the running compiler. Names come from users, and
may hold quotes, brackets, line ends or markup; all of that stays inside its label. The same graph gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from intentc.loading.configuration import Configuration, Loaded
from intentc.logic.dependencies.map_check import layers

from ..command_error import CommandError, Exit
from ..command_options import configured
from ..diagnostics_client import asked
from ..output import print_document
from ..server_process import run_service

_FORMS = ("mermaid", "dot", "json")


@click.command(name="graph")
@click.argument("kind", required=False)
@click.argument("name", required=False)
@click.option("--depth", type=click.IntRange(1, 4), default=1, show_default=True, help="Steps away from the object.")
@click.option("--kinds", metavar="A,B", default="", help="Only these kinds around the object.")
@click.option("-o", "--output", type=click.Choice(_FORMS), default="mermaid", show_default=True)
@configured(compilers=True)
def command(
    kind: str | None,
    name: str | None,
    depth: int,
    kinds: str,
    output: str,
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
    configuration = loaded.configuration
    if kind and name:
        return run_service(_around, kind, name, depth, kinds, output, configuration)
    _print_map(output, configuration)
    return Exit.DONE


def _print_map(output: str, configuration: Configuration) -> None:
    from intentc.logic.dependencies.reactions import edges
    from intentc.plugins import installed

    compilers = installed(configuration)
    named = layers(compilers.reactions)
    found = edges(compilers.reactions)
    if output == "json":
        kinds = [{"kind": kind, "layer": layer, "compiled": kind in compilers.intents} for kind, layer in named.items()]
        drawn = [{**edge._asdict(), **declared._asdict()} for edge, declared in found.items()]
        print_document("json", {"kinds": kinds, "edges": drawn}, (), ())
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
        print_document("json", found, (), ())
    else:
        _print_neighbourhood(output, found)
    return Exit.DONE


def _print_neighbourhood(output: str, found: Mapping[str, Any]) -> None:
    nodes = [
        Node(node["id"], [node["kind"], node["name"]], marked=node["id"] == found["center"]) for node in found["nodes"]
    ]
    arrows = [Arrow(edge["from"], edge["to"], edge["relation"], edge["made"]) for edge in found["edges"]]
    (center,) = [node for node in found["nodes"] if node["id"] == found["center"]]
    _print_drawing(output, nodes, arrows, f"{center['kind']} {center['name']}")


def _print_drawing(output: str, nodes: list[Any], arrows: list[Any], title: str) -> None:
    click.echo(mermaid(nodes, arrows) if output == "mermaid" else dot(nodes, arrows, title), nl=False)


class Node(NamedTuple):
    """``id``: unique, any text; ``lines``: the lines of its label. ``layer``: nodes of one layer are side by side;
    None: anywhere. ``marked``: drawn with a thick border."""

    id: str
    lines: Sequence[str]
    layer: int | None = None
    marked: bool = False


class Arrow(NamedTuple):
    """From node to node, by their ids; omitted if one of them is missing. ``strong``: drawn thick."""

    start: str
    end: str
    label: str = ""
    strong: bool = False


_CODED = re.compile(r"[^\w .,:/()+*=-]")
"""Characters that a mermaid label has as codes: mermaid's own, HTML's, Markdown's."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def mermaid(nodes: Iterable[Node], arrows: Iterable[Arrow]) -> str:
    """A mermaid flowchart; mermaid lays nodes out itself, so layers only sort them."""
    listed = _by_layer(nodes)
    names = {node.id: f"n{number}" for number, node in enumerate(listed)}
    lines = ["flowchart LR"]
    lines += [f'    {names[node.id]}["{"<br/>".join(map(_mermaid_text, node.lines))}"]' for node in listed]
    for arrow in _drawn(arrows, names):
        label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {names[arrow.start]} {'==>' if arrow.strong else '-->'}{label} {names[arrow.end]}")
    marked = [names[node.id] for node in listed if node.marked]
    if marked:
        lines += ["    classDef marked stroke-width:3px", f"    class {','.join(marked)} marked"]
    return "\n".join(lines) + "\n"


def dot(nodes: Iterable[Node], arrows: Iterable[Arrow], title: str = "intentc") -> str:
    """A directed graph in Graphviz' language: ``dot -Tsvg`` draws it."""
    listed = _by_layer(nodes)
    names = {node.id: f"n{number}" for number, node in enumerate(listed)}
    lines = [f"digraph {_dot_text([title])} {{", "    rankdir=LR;", "    node [shape=box];"]
    for node in listed:
        border = ", penwidth=3" if node.marked else ""
        lines.append(f"    {names[node.id]} [label={_dot_text(node.lines)}{border}];")
    for layer in sorted({node.layer for node in listed if node.layer is not None}):
        side_by_side = "; ".join(names[node.id] for node in listed if node.layer == layer)
        lines.append(f"    {{ rank=same; {side_by_side}; }}")
    for arrow in _drawn(arrows, names):
        attributes = [f"label={_dot_text([arrow.label])}"] if arrow.label else []
        attributes += ["penwidth=2"] if arrow.strong else []
        behind = f" [{', '.join(attributes)}]" if attributes else ""
        lines.append(f"    {names[arrow.start]} -> {names[arrow.end]}{behind};")
    return "\n".join([*lines, "}"]) + "\n"


def _by_layer(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.layer is None, node.layer or 0))


def _drawn(arrows: Iterable[Arrow], names: dict[str, str]) -> list[Arrow]:
    return [arrow for arrow in arrows if arrow.start in names and arrow.end in names]


def _mermaid_text(text: str) -> str:
    return _CODED.sub(lambda sign: f"#{ord(sign[0])};", _CONTROL.sub(" ", text))


def _dot_text(lines: Sequence[str]) -> str:
    escaped = (_CONTROL.sub(" ", line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
