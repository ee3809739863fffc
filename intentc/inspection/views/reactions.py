"""Shows the reaction map in force with each edge's counters, the map's findings, and missing reactions.

``engine/edges.py`` counts; ``dependencies.check`` computes the findings.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from intentc.engine.engine import Engine
from intentc.logic.dependencies import Finding, ReactionMap, findings

_PROVED: WeakKeyDictionary[ReactionMap, list[Finding]] = WeakKeyDictionary()


async def reactions(engine: Engine) -> dict[str, Any]:
    """Answer ``GET /reactions``: edges in the map's order, each once; kinds by their rank."""
    evaluator, reaction_map = engine.evaluator, engine.parts.logic.reactions
    found = await _proved(engine, reaction_map)
    edges: dict[tuple[str, str, str, bool], dict[str, Any]] = {}
    for reaction in reaction_map:
        for visit in reaction.visits:
            edge = (reaction.kind, reaction.cause, visit.kind)
            edges.setdefault(
                (*edge, visit.everyone),
                {
                    "kind": reaction.kind,
                    "cause": reaction.cause,
                    "to": visit.kind,
                    "everyone": visit.everyone,
                    "source": visit.source,
                    **evaluator.edges.of(edge)._asdict(),
                },
            )
    kinds = dict.fromkeys(reaction.kind for reaction in reaction_map)
    kinds |= dict.fromkeys(visit.kind for reaction in reaction_map for visit in reaction.visits)
    loaded = evaluator.edges
    return {
        "kinds": sorted(kinds, key=reaction_map.rank),
        "compiled": sorted(set(kinds) & set(engine.parts.logic.intent_kinds)),
        "edges": list(edges.values()),
        "findings": [msgspec.structs.asdict(finding) for finding in found],
        "missing": [
            {"reader": reader, "read": read, "count": count}
            for (reader, read), count in sorted(evaluator.missing_reactions.items())
        ],
        "loaded_at": loaded.loaded_at,
        "reloads": loaded.reloads,
        "last_error": loaded.last_error,
        "since": loaded.since,
    }


async def _proved(engine: Engine, reaction_map: ReactionMap) -> list[Finding]:
    """Return the findings of a map, computed once, in a thread, since that takes 0.2 s."""
    found = _PROVED.get(reaction_map)
    if found is None:
        found = await asyncio.to_thread(findings, reaction_map, engine.parts.schema)
        _PROVED[reaction_map] = found
    return found
