"""Turns what recorded reads show about a reaction map into findings, each with file, line, and what to do.

``logic.coverage`` counts the reads of a compiled world; the running service counts its own. Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from intentc.model import Schema

from .check import Finding
from .edges import Edge
from .reactions import SELF, ReactionMap


class Idle(NamedTuple):
    """An edge, its place, and the results of the walks along it; ``walks`` is empty if there were none."""

    edge: Edge
    source: str
    walks: str


def missing_reaction(reader: str, read: str, example: str, reactions: ReactionMap, schema: Schema) -> Finding:
    """The finding for intents of kind ``reader`` that read the kind ``read`` without a path of the map. ``example``:
    how often, or an example."""
    return Finding(
        _place(reader, read, reactions),
        "warning",
        "MissingReaction",
        f"{reader} reads {read}, but no path of the map leads there ({example}): {_addition(reader, read, schema)}",
    )


def idle_reactions(idle: Iterable[Idle], since: str) -> Iterator[Finding]:
    """The findings for edges that led to nothing new: each walked edge on its own, the others of one entry together.
    ``since``: the time, or the files, that the counts cover."""
    unwalked: dict[tuple[str, str, str], list[str]] = {}
    for edge, source, walks in idle:
        if walks:
            advice = f"keep it if it is meant, or take {edge.to} out of `{edge.kind}: {edge.cause}:`"
            yield Finding(source, "note", "IdleReaction", f"{edge}: {walks}; {advice}")
        else:
            unwalked.setdefault((edge.kind, edge.cause, source), []).append(edge.to)
    for (kind, cause, source), kinds in unwalked.items():
        edge = Edge(kind, cause, ", ".join(kinds))
        changed = kind if cause == SELF else cause
        yield Finding(
            source,
            "note",
            "IdleReaction",
            f"{edge}: no walk led to an intent this way {since}, so nothing is known of its use; change any {changed}",
        )


def _place(reader: str, read: str, reactions: ReactionMap) -> str:
    """The place for the addition: the entry of what is read, else one of the reader, else the map."""
    by_state = {(reaction.kind, reaction.cause): reaction.source for reaction in reactions}
    of_kind = {reaction.kind: reaction.source for reaction in reversed(list(reactions))}
    found = by_state.get((read, SELF)) or of_kind.get(read) or of_kind.get(reader)
    return found or next(iter(by_state.values()), "")


def _addition(reader: str, read: str, schema: Schema) -> str:
    tied = any(
        source.name == one
        for one, other in ((reader, read), (read, reader))
        for source, _ in schema.referring.get(other, ())
    )
    step = reader if tied else f"{{all: {reader}}}"
    why = "" if tied else f", since {read} and {reader} have no relation"
    return f"add {step} to `{read}: self:`{why}, and `{read}: []` to {reader}"
