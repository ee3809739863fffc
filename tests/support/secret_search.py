"""Searches what people can see for secrets: logs, plans, journals, statuses, Events, records in etcd.

Use it at the end of a test that lets things fail: whatever was said meanwhile must show no secret in any form in which
a program may pass it on: as it is, in base64, escaped for JSON, and, of a PEM, each of its lines.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

_SHORTEST = 6
"""Characters: shorter pieces occur by chance."""
_BEGINNING = 24
"""Of a long secret, how much of its beginning is a find: what a program cuts off shows it all the same."""
_PEM_MARKS = ("PRIVATE KEY",)
"""What no key's text lacks, whoever made the key."""


def assert_shows_none(places: Mapping[str, Any], secrets: Iterable[str | bytes]) -> None:
    """Fail if one of ``secrets`` is in one of ``places``: name → text, bytes, or JSON."""
    wanted = {form for secret in secrets for form in forms(secret)}
    assert wanted, "nothing is searched for"
    shown = {name: said(place) for name, place in places.items()}
    assert any(shown.values()), "nothing is searched"
    found = [f"{name} shows {form[:4]}…" for name, text in shown.items() for form in sorted(wanted) if form in text]
    assert not found, found


def forms(secret: str | bytes) -> set[str]:
    """The texts by which a secret is recognized."""
    raw = secret.encode() if isinstance(secret, str) else secret
    found = set(_pieces(base64.b64encode(raw).decode()))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return found
    for line in text.splitlines():
        if not line.startswith("-----"):
            found |= {*_pieces(line), *_pieces(base64.b64encode(line.encode()).decode()), *_pieces(quote(line))}
    if "PRIVATE KEY" in text:
        found |= set(_PEM_MARKS)
    return found


def said(place: Any) -> str:
    """What a place shows, as one text."""
    if isinstance(place, bytes):
        return place.decode(errors="replace")
    return place if isinstance(place, str) else json.dumps(place, default=str, ensure_ascii=False)


def in_files(folder: Path, pattern: str = "**/*") -> dict[str, bytes]:
    """The files below a folder as places."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob(pattern) if file.is_file()}


def _pieces(text: str) -> Iterator[str]:
    if len(text) >= _SHORTEST:
        yield text[:_BEGINNING]
