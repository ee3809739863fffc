"""Shows the reaction map in force, its findings, missing reactions, and reloads.

``logic/dependencies/map_check.py`` computes the findings.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from intentc.engine.live import Live
from intentc.logic.dependencies import Finding, ReactionMap, findings
from intentc.model import Schema

_PROVED: WeakKeyDictionary[ReactionMap, list[Finding]] = WeakKeyDictionary()


async def reactions(live: Live) -> dict[str, Any]:
    """Answer ``GET /reactions``: edges in the map's order, each once; kinds by their rank."""
    world, loaded = live.world, live.reloads
    reaction_map = world.reactions
    found = await _proved(reaction_map, world.schema)
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
                },
            )
    kinds = dict.fromkeys(reaction.kind for reaction in reaction_map)
    kinds |= dict.fromkeys(visit.kind for reaction in reaction_map for visit in reaction.visits)
    return {
        "kinds": sorted(kinds, key=reaction_map.rank),
        "compiled": sorted(set(kinds) & set(world.intent_kinds)),
        "edges": list(edges.values()),
        "findings": [msgspec.structs.asdict(finding) for finding in found],
        "missing": [
            {"reader": reader, "read": read, "count": count}
            for (reader, read), count in sorted(live.evaluator.missing_reactions.items())
        ],
        "loaded_at": loaded.loaded_at,
        "reloads": loaded.reloads,
        "last_error": loaded.last_error,
    }


async def _proved(reaction_map: ReactionMap, schema: Schema) -> list[Finding]:
    """Return the findings of a map, computed once, in a thread, since that takes 0.2 s."""
    found = _PROVED.get(reaction_map)
    if found is None:
        found = await asyncio.to_thread(findings, reaction_map, schema)
        _PROVED[reaction_map] = found
    return found
