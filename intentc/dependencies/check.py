"""What can be proved of a reaction map before anything runs: findings, each with file and line.

A map only says what was meant; a wrong one makes no output wrong (engine.md §3). So all but kinds that don't exist
are warnings, and entries without effect only notes: an inherited map has them. What recorded reads say about a map is
told by ``logic``, as missing reactions.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from intentc.model import Schema

from .reactions import SELF, Reaction, ReactionMap

if TYPE_CHECKING:
    import networkx

_State = tuple[str, str]

SEVERITIES = ("error", "warning", "note")
"""The worst first. A note needs nothing to be done."""


class Finding(msgspec.Struct, frozen=True, order=True):
    """``severity``: one of ``SEVERITIES``; ``reason``: UnknownKind, SilentStop, Unreachable, NoRelation or Cycle;
    ``source``: file:line."""

    source: str
    severity: str
    reason: str
    message: str


def findings(reactions: ReactionMap, schema: Schema) -> list[Finding]:
    """Everything that is wrong or odd about ``reactions``, errors first and notes last, then by file and line."""
    import networkx  # 144 ms, and only checks and the start need it

    states: networkx.DiGraph[_State] = networkx.DiGraph()
    for reaction in reactions:
        states.add_node((reaction.kind, reaction.cause))
        for visit in reaction.visits:
            states.add_edge((reaction.kind, reaction.cause), (visit.kind, reaction.kind))
    found = [
        *_unknown_kinds(reactions, schema),
        *_silent_stops(reactions),
        *_unreachable(reactions, states),
        *_unrelated(reactions, schema),
        *_cycles(reactions, states),
    ]
    return sorted(set(found), key=lambda finding: (SEVERITIES.index(finding.severity), _line(finding.source), finding))


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
                near = difflib.get_close_matches(kind, [*schema.kinds, SELF], 2)
                hint = f"; did you mean {' or '.join(near)}?" if near else "; take it out, or declare it in a schema"
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
    tied = {(source.name, target) for target, referring in schema.referring.items() for source, _ in referring}
    for reaction in reactions:
        for visit in reaction.visits:
            pair = (reaction.kind, visit.kind)
            known = reaction.kind in schema and visit.kind in schema
            if known and not visit.everyone and pair not in tied and pair[::-1] not in tied:
                yield Finding(
                    visit.source,
                    "warning",
                    "NoRelation",
                    f"{reaction.kind} and {visit.kind} have no relation in the schema, so this is never followed: "
                    f"take it out, or write `all: {visit.kind}` if every one is meant",
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
        yield Finding(source, "warning", "Cycle", f"the walk can come back to where it was: {shown}")
