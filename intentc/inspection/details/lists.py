"""The lists that may be long, a page at a time: pending references and the quarantine.

What stands before a page is skipped in slices; ``status/`` builds the entries of the quarantine.

It reads the engine and changes nothing.
"""

from __future__ import annotations

from typing import Any

from intentc.engine.live import Live
from intentc.engine.slices import Slice
from intentc.logic import LiveWorld

from ..status.quarantined import Entry, blocks, quarantine_count

_BLOCK = 200


async def pending(world: LiveWorld, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``. The order is
    arbitrary, and stable while nothing changes."""
    work = Slice()
    rows: list[dict[str, str]] = []
    total = 0
    for kind in sorted(world.cache.stored):
        for place, state in enumerate(world.cache.states(kind)):
            for key, link in world.cache.graph.pending_of(state.key):
                if offset <= total < offset + limit:
                    rows.append({"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"})
                total += 1
            if place % _BLOCK == 0:
                await work.rest()
    return {"total": total, "offset": offset, "limit": limit, "pending_references": rows}


async def quarantine(live: Live, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "quarantine": [entry]}``, table by table, the oldest first; the form of an
    entry is in ``status/quarantined.py``."""
    work = Slice()
    found: list[Entry] = []
    for block in blocks(live, offset, limit):
        found += block
        await work.rest()
    return {"total": quarantine_count(live), "offset": offset, "limit": limit, "quarantine": found}
