"""Formats a graph as text for drawing programs: mermaid and Graphviz' dot.

Why it exists: names come from users, and may hold quotes, brackets, line ends or markup; this module keeps all of that
inside its label. The same graph gives the same text, in the order of the input. The caller decides what is drawn.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple


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
