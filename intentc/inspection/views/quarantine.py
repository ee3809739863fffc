"""Returns a page of the quarantine; entries before the page are skipped in slices."""

from __future__ import annotations

from typing import Any

from intentc.engine.engine import Engine
from intentc.engine.quarantined import Entry, blocks, quarantine_count
from intentc.engine.slices import Slice


async def quarantine(engine: Engine, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "quarantine": [entry]}``, table by table, the oldest first; the form of an
    entry is in ``engine/quarantined.py``."""
    work = Slice()
    found: list[Entry] = []
    for block in blocks(engine.parts, offset, limit):
        found += block
        await work.rest()
    return {"total": quarantine_count(engine.parts), "offset": offset, "limit": limit, "quarantine": found}
