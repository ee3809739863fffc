"""Shapes the quarantine's page: each entry with its reason, its age, and the command that ends it.

Why commands and no buttons: the page is read-only, and a directive carries the name of the operator
(``intentc.directives``).

Pure: an answer in, template values out.
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


def offset_of(parameters: Mapping[str, str]) -> int:
    """Read the offset of the page. Raises ``BadQuery``."""
    return number(parameters, "offset", 0, 0, MOST_OFFSET)


def shown(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template's values for an answer of ``Asked.quarantine``."""
    offset, entries = answer["offset"], answer["quarantine"]
    rows = [{**entry, "command": _command(entry)} for entry in entries]
    return {
        "rows": rows,
        "pager": pager(offset, len(rows), answer["total"], ROWS, lambda at: link("/pages/quarantine", offset=at)),
    }


def _command(entry: Mapping[str, Any]) -> str:
    on = entry.get("on")
    other = (on["kind"], short_name(on)) if on else None
    return quarantine_command(entry["state"], entry["kind"], short_name(entry), other)
