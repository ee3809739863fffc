"""Graphs as mermaid and dot: whatever stands in a label stays there, and the same graph gives the same text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.cli.commands.graph import Arrow, Node, dot, mermaid

_MERMAID = (
    r"flowchart LR",
    r'    n\d+\["[^"\[\]{}<>|;&`\\]*"\]',
    r'    n\d+ (-->|==>)(\|"[^"\[\]{}<>|;&`\\]*"\|)? n\d+',
    r"    classDef marked stroke-width:3px",
    r"    class n\d+(,n\d+)* marked",
)
_TEXT = r'"(?:[^"\\]|\\["\\n])*"'
_DOT = (
    rf"digraph {_TEXT} {{",
    r"    rankdir=LR;",
    r"    node \[shape=box\];",
    rf"    n\d+ \[label={_TEXT}(, penwidth=3)?\];",
    r"    \{ rank=same; n\d+(; n\d+)*; \}",
    rf"    n\d+ -> n\d+( \[(label={_TEXT})?(, )?(penwidth=2)?\])?;",
    r"}",
)
HOSTILE = [
    'say "hi"',
    "a<b>c</b>",
    "one\ntwo",
    "a;b",
    "a|b",
    "[x]",
    "{x}",
    "`x`",
    "\\",
    "#quot;",
    "&amp;",
    "end",
    "\x00",
]


def strange_lines(text: str, allowed: tuple[str, ...]) -> list[str]:
    """Lines that are none of the forms in which a drawing is written. In mermaid codes such as #34; are legal."""
    assert text.endswith("\n")
    return [
        line
        for line in text[:-1].split("\n")
        if not any(re.fullmatch(form, re.sub(r"#\d+;|<br/>", "", line)) for form in allowed)
    ]


@pytest.mark.parametrize("label", HOSTILE)
def test_a_label_never_gets_out_of_its_quotes(label: str) -> None:
    nodes = [Node("a", [label, label]), Node("b", ["b"])]
    arrows = [Arrow("a", "b", label)]
    assert strange_lines(mermaid(nodes, arrows), _MERMAID) == []
    assert strange_lines(dot(nodes, arrows, label), _DOT) == []


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(0, 3), st.booleans()), max_size=5), st.text())
def test_any_text_at_all_is_a_label(drawn: list[tuple[str, str, int, bool]], label: str) -> None:
    nodes = [Node(f"{place}{id_}", [text], layer, marked) for place, (id_, text, layer, marked) in enumerate(drawn)]
    arrows = [Arrow(one.id, other.id, label, one.marked) for one in nodes for other in nodes]
    assert strange_lines(mermaid(nodes, arrows), _MERMAID) == []
    assert strange_lines(dot(nodes, arrows), _DOT) == []


def test_a_mermaid_flowchart() -> None:
    nodes = [Node("x", ["net", "a:b"], marked=True), Node("y", ["policy"])]
    assert mermaid(nodes, [Arrow("x", "y", "self"), Arrow("y", "x", strong=True)]) == (
        "flowchart LR\n"
        '    n0["net<br/>a:b"]\n'
        '    n1["policy"]\n'
        '    n0 -->|"self"| n1\n'
        "    n1 ==> n0\n"
        "    classDef marked stroke-width:3px\n"
        "    class n0 marked\n"
    )


def test_a_dot_digraph_with_layers_side_by_side() -> None:
    nodes = [Node("x", ["net", "a:b"], layer=1), Node("y", ["policy"], layer=0, marked=True), Node("z", ["q"], layer=0)]
    assert dot(nodes, [Arrow("y", "x", "self"), Arrow("z", "x", strong=True)], "map") == (
        'digraph "map" {\n'
        "    rankdir=LR;\n"
        "    node [shape=box];\n"
        '    n0 [label="policy", penwidth=3];\n'
        '    n1 [label="q"];\n'
        '    n2 [label="net\\na:b"];\n'
        "    { rank=same; n0; n1; }\n"
        "    { rank=same; n2; }\n"
        '    n0 -> n2 [label="self"];\n'
        "    n1 -> n2 [penwidth=2];\n"
        "}\n"
    )


def test_an_arrow_to_nowhere_is_left_out() -> None:
    assert "-->" not in mermaid([Node("a", ["a"])], [Arrow("a", "b")])
    assert "->" not in dot([Node("a", ["a"])], [Arrow("b", "a")])
