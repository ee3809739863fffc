"""Returns a page of the quarantine; entries before the page are skipped in slices."""

from __future__ import annotations

from typing import Any

from intentc.engine.slices import Slice
from intentc.engine.view import View

from ..status.quarantined import Entry, blocks, quarantine_count


async def quarantine(view: View, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "quarantine": [entry]}``, table by table, the oldest first; the form of an
    entry is in ``status/quarantined.py``."""
    work = Slice()
    found: list[Entry] = []
    for block in blocks(view, offset, limit):
        found += block
        await work.rest()
    return {"total": quarantine_count(view), "offset": offset, "limit": limit, "quarantine": found}
