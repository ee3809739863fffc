"""Lists the references whose target does not exist, a page at a time, reading all resources in slices."""

from __future__ import annotations

from typing import Any

from intentc.engine.slices import Slice
from intentc.engine.view import World

_BLOCK = 200


async def pending(world: World, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``. The order is
    arbitrary, and stable while nothing changes."""
    work = Slice()
    rows: list[dict[str, str]] = []
    total = 0
    for kind in sorted(world.stored_kinds):
        for place, state in enumerate(world.states(kind)):
            for key, link in world.pending_references(state.key):
                if offset <= total < offset + limit:
                    rows.append({"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"})
                total += 1
            if place % _BLOCK == 0:
                await work.rest()
    return {"total": total, "offset": offset, "limit": limit, "pending_references": rows}
