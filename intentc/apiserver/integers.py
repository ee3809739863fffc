"""Parses integers that clients send as text: headers, query parameters, positions.

Why it exists: ``str.isdigit`` accepts superscripts, and ``int`` raises on them and on more than 4,300 digits; either
would end in a 500. Callers decide what an integer means.
"""

from __future__ import annotations

LARGEST = 2**63 - 1
"""The largest integer of etcd's revisions and of JSON readers in other languages."""
_DIGITS = len(str(LARGEST))


def parse_integer(text: str) -> int | None:
    """``text`` as an integer from 0 to ``LARGEST``; None if it is not ASCII digits in this range."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        return None
    value = int(text)
    return value if value <= LARGEST else None
