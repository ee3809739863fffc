"""Lists the references whose target does not exist, a page at a time, reading all resources in slices."""

from __future__ import annotations

from typing import Any

from intentc.engine.engine import Engine
from intentc.engine.slices import Slice

_BLOCK = 200


async def pending(engine: Engine, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``. The order is
    arbitrary, and stable while nothing changes."""
    cache, work = engine.parts.logic.cache, Slice()
    rows: list[dict[str, str]] = []
    total = 0
    for kind in sorted(cache.stored):
        for place, state in enumerate(cache.states(kind)):
            for key, link in cache.graph.pending_of(state.key):
                if offset <= total < offset + limit:
                    rows.append({"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"})
                total += 1
            if place % _BLOCK == 0:
                await work.rest()
    return {"total": total, "offset": offset, "limit": limit, "pending_references": rows}
