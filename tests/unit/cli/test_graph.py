"""``graph``: the reaction map, and what is around an object of the running compiler."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from intentc.testing import load
from tests.unit.cli.asked_compiler import answering
from tests.unit.cli.running import Intentc

HOSTILE = load("""
resources:
  - {kind: project, data: {fq_name: [default-domain, p]}}
  - {kind: security_group, data: {fq_name: [default-domain, p, 'g";<b>']}}
""")


def test_the_reaction_map_is_drawn_with_its_causes(intentc: Intentc) -> None:
    drawn = intentc("graph", "--compiler", "ambassador")
    assert drawn.code == 0
    lines = drawn.out.splitlines()
    assert lines[0] == "flowchart LR"
    ids = {line.split('["')[1][:-2]: line.split("[")[0].strip() for line in lines if '["' in line}
    assert f'    {ids["tls_context"]} -->|"self (all)"| {ids["host"]}' in lines
    assert f'    {ids["host"]} -->|"self"| {ids["mapping"]}' in lines


def test_causes_of_one_arrow_stand_together_and_layers_side_by_side(intentc: Intentc) -> None:
    drawn = intentc("graph", "-o", "dot").out
    assert '[label="self, virtual_machine_interface"]' in drawn
    assert "{ rank=same; n0;" in drawn


def test_programs_get_every_edge_with_its_line(intentc: Intentc) -> None:
    found = json.loads(intentc("graph", "-o", "json").out)
    kinds = {each["kind"]: each for each in found["kinds"]}
    assert kinds["virtual_network"]["compiled"]
    assert kinds["project"]["layer"] < kinds["logical_router"]["layer"]
    wanted = ("project", "self", "logical_router")
    (edge,) = [edge for edge in found["edges"] if (edge["kind"], edge["cause"], edge["to"]) == wanted]
    assert not edge["everyone"]
    assert edge["source"].rpartition(":")[2].isdigit()


def test_a_kind_without_a_name_is_rejected(intentc: Intentc) -> None:
    ended = intentc("graph", "virtual_network")
    assert (ended.code, "KIND NAME" in ended.err) == (2, True)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with answering("contrail", HOSTILE) as address:
        monkeypatch.setenv("INTENTC_INTENTC__DIAGNOSTICS__ADDRESS", address)
        yield


@pytest.mark.usefixtures("running")
def test_the_graph_draws_an_objects_neighbours_with_names_as_labels(intentc: Intentc) -> None:
    drawn = intentc("graph", "security-group", 'p:g";<b>')
    assert drawn.code == 0
    assert '    n0["security_group<br/>default-domain:p:g#34;#59;#60;b#62;"]' in drawn.out.splitlines()
    assert drawn.out.count('==>|"makes"|') == 2
    assert '-->|"parent"|' in drawn.out


@pytest.mark.usefixtures("running")
def test_it_is_drawn_by_graphviz_too(intentc: Intentc) -> None:
    drawn = intentc("graph", "security_group", 'p:g";<b>', "-o", "dot", "--kinds", "access_control_list")
    assert drawn.out.startswith('digraph "security_group default-domain:p:g\\";<b>" {\n')
    assert drawn.out.count("access_control_list\\n") == 2
    assert "project" not in drawn.out


@pytest.mark.usefixtures("running")
def test_programs_get_nodes_and_edges(intentc: Intentc) -> None:
    found = json.loads(intentc("graph", "project", "default-domain:p", "--depth", "2", "-o", "json").out)
    assert found["apiVersion"] == "intentc/v1"
    assert found["nodes"][0]["id"] == found["center"]
    assert max(node["depth"] for node in found["nodes"]) == 2
    assert not found["cut"]


@pytest.mark.usefixtures("running")
def test_a_name_that_nothing_has_is_reported_with_near_ones(intentc: Intentc) -> None:
    ended = intentc("graph", "project", "default-domain:q")
    assert ended.code != 0
    assert "there is no project default-domain:q" in ended.err
