"""Encodes answers as JSON of at most 200 kB.

Why it exists: every question is paged, but a single resource may have 10,000 rules, or a text of a megabyte. This is
the last bound, so that people and pages get an answer at once.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from intentc.diagnostics.questions import Unanswerable

MOST_BYTES = 200_000
"""Most bytes of one answer."""

CUT = "…"
_LONGEST = ((1_000, 10_000), (300, 3_000), (100, 1_000), (30, 300), (10, 100), (3, 50), (1, 20))
"""Most entries of a list and characters of a text, tried in turn until the answer is small enough."""


_KEYS = 100
"""Most keys of an object: one with more is a map and not a set of fields."""


def json_answer(request: Request, value: object, code: int = 200, *, pretty: bool = False) -> Response:
    """Answer with ``value`` as JSON, indented if ``pretty`` or ``?pretty``, cut by ``bounded``."""
    indented = pretty or "pretty" in request.query_params
    return Response(encoded(value, indented=indented), code, media_type="application/json")


def rejection(request: Request, error: Unanswerable) -> Response:
    """Answer ``{"error", "next_step", "candidates"}`` with the status of ``error``."""
    content = {"error": error.error, "next_step": error.next_step, "candidates": list(error.candidates)}
    return json_answer(request, content, error.status)


def encoded(value: object, *, indented: bool = False) -> bytes:
    """Encode ``value`` as JSON of at most ``MOST_BYTES``."""
    content = _encoded(value, indented)
    return content if len(content) <= MOST_BYTES else _encoded(fitted(value, indented=indented), indented)


def fitted(value: Any, *, indented: bool = False) -> Any:
    """Return ``value``, cut until its JSON has at most ``MOST_BYTES``."""
    if len(_encoded(value, indented)) <= MOST_BYTES:
        return value
    plain = msgspec.json.decode(msgspec.json.encode(value))
    for entries, characters in _LONGEST:
        cut = bounded(plain, entries, characters)
        if len(_encoded(cut, indented)) <= MOST_BYTES:
            return cut
    return {"error": "the answer is too large to be shown", "cut": True}


def bounded(value: Any, entries: int, characters: int) -> Any:
    """Cut long lists and texts in a JSON value. A cut list of plain values ends with ``…``; a cut list of objects has
    only rows, and the object that contains it has ``"cut": true``."""
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + CUT
    if isinstance(value, list):
        kept = [bounded(item, entries, characters) for item in value[:entries]]
        rows = bool(value) and isinstance(value[0], dict)
        return kept if len(value) <= entries or rows else [*kept, CUT]
    if isinstance(value, dict):
        # Most values are short texts: a call for each would dominate the cost.
        found = {
            key: item if item.__class__ is str and len(item) <= characters else bounded(item, entries, characters)
            for key, item in islice(value.items(), max(entries, _KEYS))
        }
        shorter = any(isinstance(item, list) and len(found[key]) < len(item) for key, item in value.items()
                      if key in found)  # fmt: skip
        return {**found, "cut": True} if shorter or len(found) < len(value) else found
    return value


def _encoded(value: object, indented: bool) -> bytes:
    content = msgspec.json.encode(value)
    return msgspec.json.format(content, indent=2) + b"\n" if indented else content
