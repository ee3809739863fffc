"""What recorded reads say about a reaction map, as findings: each with file, line, and what to do.

Counting is left to those who saw the reads: ``logic.coverage`` over a compiled world, the running service as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from intentc.model import Schema

from .check import Finding
from .edges import Edge
from .reactions import SELF, ReactionMap


class Idle(NamedTuple):
    """An edge, where it stands, and what became of the walks along it; empty if there were none."""

    edge: Edge
    source: str
    told: str


def missing_reaction(reader: str, read: str, told: str, reactions: ReactionMap, schema: Schema) -> Finding:
    """Intents of the kind ``reader`` read objects of the kind ``read``, and the map does not lead there. ``told``: how
    often, or an example."""
    return Finding(
        _place(reader, read, reactions),
        "warning",
        "MissingReaction",
        f"{reader} reads {read}, but no path of the map leads there ({told}): {_addition(reader, read, schema)}",
    )


def idle_reactions(idle: Iterable[Idle], since: str) -> Iterator[Finding]:
    """What led nobody to anything new: each edge that was walked by itself, the others of one entry together.
    ``since``: the time, or the files, for which that is told."""
    unwalked: dict[tuple[str, str, str], list[str]] = {}
    for edge, source, told in idle:
        if told:
            advice = f"keep it if it is meant, or take {edge.to} out of `{edge.kind}: {edge.cause}:`"
            yield Finding(source, "note", "IdleReaction", f"{edge}: {told}; {advice}")
        else:
            unwalked.setdefault((edge.kind, edge.cause, source), []).append(edge.to)
    for (kind, cause, source), kinds in unwalked.items():
        edge = Edge(kind, cause, ", ".join(kinds))
        yield Finding(
            source,
            "note",
            "IdleReaction",
            f"{edge}: no walk led to an intent this way {since}, so that nothing is known of its use",
        )


def _place(reader: str, read: str, reactions: ReactionMap) -> str:
    """Where something is missing: the entry of what is read, else one of the reader, else anywhere in the map."""
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
