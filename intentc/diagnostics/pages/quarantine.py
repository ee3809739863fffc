"""The quarantine's page: who is in it, why, since when, and the command that ends it.

Why commands and no buttons: the page only reads; an order is signed by who gives it (``intentc.orders``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..asking import MOST_OFFSET
from ..parameters import number
from .objects import pager
from .rendering import link, short_name
from .words import quarantine_command

ROWS = 50


def shown(status: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """What the template shows of the status's ``quarantine``. Raises ``BadQuery``."""
    offset = number(parameters, "offset", 0, 0, MOST_OFFSET)
    entries = status.get("quarantine", [])
    rows = [
        {**entry, "command": quarantine_command(entry["state"], entry["kind"], short_name(entry))}
        for entry in entries[offset : offset + ROWS]
    ]
    return {
        "rows": rows,
        "pager": pager(offset, len(rows), len(entries), ROWS, lambda at: link("/pages/quarantine", offset=at)),
    }
