"""Checks a reaction map before anything runs (findings, each with file, line, and what to do), and sorts its kinds into
layers for drawing.

A map only states intent; a wrong one makes no output wrong while every read is recorded (docs/engine.md §3). So
everything but unknown kinds is a warning, and entries without effect are only notes, since an inherited map has them.
``logic.coverage`` compares a map with recorded reads.

Pure functions of map and schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from intentc.logic.dependencies.reactions import SELF, Reaction, ReactionMap
from intentc.model import Schema
from intentc.model.matching import suggestion

if TYPE_CHECKING:
    import networkx

_State = tuple[str, str]

SEVERITIES = ("error", "warning", "note")
"""The worst first. A note needs no action."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """``severity``: one of ``SEVERITIES``; ``reason``: a CamelCase word; ``source``: file:line, or what else
    the finding is about; ``message``: what is wrong, and after a colon or semicolon what to do about it."""

    source: str
    severity: str
    reason: str
    message: str


def findings(reactions: ReactionMap, schema: Schema) -> list[Finding]:
    """All findings about ``reactions``, errors first and notes last, then by file and line."""
    states = walk_states(reactions)
    found = [
        *_unknown_kinds(reactions, schema),
        *_silent_stops(reactions),
        *_unreachable(reactions, states),
        *_unrelated(reactions, schema),
        *_cycles(reactions, states),
    ]
    return sorted(set(found), key=lambda finding: (SEVERITIES.index(finding.severity), _line(finding.source), finding))


def walk_states(reactions: ReactionMap) -> networkx.DiGraph[_State]:
    """The states of walks, (kind, cause), each with an edge to those that follow it."""
    import networkx  # 144 ms, and only checks and the start need it

    states: networkx.DiGraph[_State] = networkx.DiGraph()
    for reaction in reactions:
        states.add_node((reaction.kind, reaction.cause))
        for visit in reaction.visits:
            states.add_edge((reaction.kind, reaction.cause), (visit.kind, reaction.kind))
    return states


def kinds_reached(states: networkx.DiGraph[_State], kind: str) -> frozenset[str]:
    """The kinds that a walk from a changed resource of ``kind`` can reach at all. ``states``: of ``walk_states``."""
    import networkx

    start = (kind, SELF)
    return frozenset(kind for kind, _ in networkx.descendants(states, start)) if start in states else frozenset()


def layers(reactions: ReactionMap) -> dict[str, int]:
    """Every kind in a map → its layer, for drawing: 0 for kinds that nothing leads to, others one behind all kinds that
    lead to them; kinds that lead to each other by their distance from where the walk enters."""
    import networkx

    kinds: networkx.DiGraph[str] = networkx.DiGraph()
    for reaction in reactions:
        kinds.add_node(reaction.kind)
        kinds.add_edges_from((reaction.kind, visit.kind) for visit in reaction.visits if visit.kind != reaction.kind)
    order = {kind: place for place, kind in enumerate(kinds)}
    found: dict[str, int] = {}
    last: dict[int, int] = {}
    grouped = networkx.condensation(kinds)
    for group in networkx.topological_sort(grouped):
        members = grouped.nodes[group]["members"]
        begin = 1 + max((last[before] for before in grouped.predecessors(group)), default=-1)
        entered = {kind for kind in members if not members.issuperset(kinds.predecessors(kind))}
        steps = networkx.multi_source_dijkstra_path_length(
            kinds.subgraph(members), entered or {min(members, key=order.__getitem__)}
        )
        found.update({kind: begin + int(step) for kind, step in steps.items()})
        last[group] = begin + int(max(steps.values()))
    return {kind: found[kind] for kind in order}


def _line(source: str) -> tuple[str, int]:
    file, _, line = source.rpartition(":")
    return file, int(line) if line.isdigit() else 0


def _unknown_kinds(reactions: ReactionMap, schema: Schema) -> Iterator[Finding]:
    for reaction in reactions:
        named = [(reaction.kind, reaction.source), *((visit.kind, visit.source) for visit in reaction.visits)]
        if reaction.cause != SELF:
            named.append((reaction.cause, reaction.source))
        for kind, source in named:
            if kind not in schema:
                hint = suggestion(kind, [*schema.kinds, SELF], 2) or "; take it out, or declare it in a schema"
                yield Finding(source, "error", "UnknownKind", f"unknown kind {kind!r}{hint}")


def _silent_stops(reactions: ReactionMap) -> Iterator[Finding]:
    for reaction in reactions:
        for visit in reaction.visits:
            if (visit.kind, reaction.kind) not in reactions:
                yield Finding(
                    visit.source,
                    "warning",
                    "SilentStop",
                    f"{reaction.kind} goes on to {visit.kind}, which says nothing about the cause {reaction.kind}: "
                    f"add `{reaction.kind}: []` to {visit.kind} if the walk ends there",
                )


def _unreachable(reactions: ReactionMap, states: networkx.DiGraph[_State]) -> Iterator[Finding]:
    import networkx

    reached: set[_State] = set()
    for reaction in reactions:
        if reaction.cause == SELF:
            reached.add((reaction.kind, SELF))
            reached |= networkx.descendants(states, (reaction.kind, SELF))
    for reaction in reactions:
        if (reaction.kind, reaction.cause) not in reached:
            yield Finding(
                reaction.source,
                "note",
                "Unreachable",
                f"no change ever reaches {reaction.kind} by the cause {reaction.cause}: "
                f"let {reaction.cause} go on to {reaction.kind}, or take the entry out",
            )


def _unrelated(reactions: ReactionMap, schema: Schema) -> Iterator[Finding]:
    tied: dict[str, set[str]] = {}
    for target, referring in schema.referring.items():
        for source, _ in referring:
            tied.setdefault(source.name, set()).add(target)
            tied.setdefault(target, set()).add(source.name)
    for reaction in reactions:
        for visit in reaction.visits:
            known = reaction.kind in schema and visit.kind in schema
            if known and not visit.everyone and visit.kind not in tied.get(reaction.kind, ()):
                between = sorted(tied.get(reaction.kind, set()) & tied.get(visit.kind, set()))
                way = f", go on over {' or '.join(between[:3])}, which both have to do with" if between else ""
                yield Finding(
                    visit.source,
                    "warning",
                    "NoRelation",
                    f"{reaction.kind} and {visit.kind} have no relation in the schema, so this is never followed: "
                    f"take it out{way}, or write `all: {visit.kind}` if every one is meant",
                )


def _cycles(reactions: ReactionMap, states: networkx.DiGraph[_State]) -> Iterator[Finding]:
    import networkx

    by_state: dict[_State, Reaction] = {(reaction.kind, reaction.cause): reaction for reaction in reactions}
    for component in networkx.strongly_connected_components(states):
        first = min(component)
        if len(component) == 1 and not states.has_edge(first, first):
            continue
        edges = networkx.find_cycle(states.subgraph(component), first)
        shown = " → ".join(f"{kind} (from {cause})" for kind, cause in [*(edge[0] for edge in edges), edges[0][0]])
        source = min(by_state[edge[0]].source for edge in edges)
        yield Finding(
            source,
            "warning",
            "Cycle",
            f"the walk can come back to where it was: {shown}; it ends only when everyone tied to each other was "
            "visited: write `[]` for the cause after which the next need not look again",
        )
