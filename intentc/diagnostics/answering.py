"""One answer as JSON, never larger than a person or a page can use.

Why it exists: a world of 100,000 resources has lists without end, and whoever looks at 3 a.m. must get something at
once. Each question is paged by itself; this is the last bound, for what no page could foresee: one resource with ten
thousand rules, one text of a megabyte.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

MOST_BYTES = 200_000
"""Of one answer."""

CUT = "…"
_LONGEST = ((1_000, 10_000), (300, 3_000), (100, 1_000), (30, 300), (10, 100), (3, 50), (1, 20))
"""Entries of a list and characters of a text, tried one after the other until the answer is small enough."""


_KEYS = 100
"""Of an object: more are no fields, but a map."""


def json_answer(request: Request, value: object, code: int = 200, *, pretty: bool = False) -> Response:
    """``value`` as JSON, indented if ``pretty`` or ``?pretty``, cut as ``bounded`` does."""
    indented = pretty or "pretty" in request.query_params
    return Response(encoded(value, indented=indented), code, media_type="application/json")


def encoded(value: object, *, indented: bool = False) -> bytes:
    """``value`` as JSON in at most ``MOST_BYTES``."""
    content = _encoded(value, indented)
    return content if len(content) <= MOST_BYTES else _encoded(fitted(value, indented=indented), indented)


def fitted(value: Any, *, indented: bool = False) -> Any:
    """``value`` itself, or so much of it as ``MOST_BYTES`` of JSON hold."""
    if len(_encoded(value, indented)) <= MOST_BYTES:
        return value
    plain = msgspec.json.decode(msgspec.json.encode(value))
    for entries, characters in _LONGEST:
        cut = bounded(plain, entries, characters)
        if len(_encoded(cut, indented)) <= MOST_BYTES:
            return cut
    return {"error": "the answer is too large to be shown", "cut": True}


def bounded(value: Any, entries: int, characters: int) -> Any:
    """A JSON value with long lists and texts cut. A list of plain values ends with ``…`` then; one of objects is
    shorter, so that who reads its rows finds rows only, and the object that holds it says ``"cut": true``."""
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + CUT
    if isinstance(value, list):
        kept = [bounded(item, entries, characters) for item in value[:entries]]
        rows = bool(value) and isinstance(value[0], dict)
        return kept if len(value) <= entries or rows else [*kept, CUT]
    if isinstance(value, dict):
        # Most values are short texts: a call for each would take longer than all the rest.
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
