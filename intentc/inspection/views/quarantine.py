"""The quarantine, any page of it: who is passed over is looked at a block at a time, the others have their turn."""

from __future__ import annotations

from typing import Any

from intentc.engine.engine import Engine
from intentc.engine.quarantined import Entry, blocks, quarantine_count
from intentc.engine.slices import Slice


async def quarantine(engine: Engine, offset: int, limit: int) -> dict[str, Any]:
    """``{"total", "offset", "limit", "quarantine": [entry]}``, those first that came first, table by table; an entry is
    as ``pipeline.quarantined.quarantine`` says."""
    work = Slice()
    found: list[Entry] = []
    for block in blocks(engine.parts, offset, limit):
        found += block
        await work.rest()
    return {"total": quarantine_count(engine.parts), "offset": offset, "limit": limit, "quarantine": found}
