"""Reads the mark by which compilers recognize their own objects.

Why it exists: rules of kinds and authorization both need it, and neither may import the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intentc.model.ownership import MARK_KEY, Mark


def mark_of(document: Mapping[str, Any]) -> Mark | None:
    """The mark of a resource that a compiler made; None for others."""
    pairs = (document.get("annotations") or {}).get("key_value_pair") or ()
    marks = (Mark.parse(pair.get("value") or "") for pair in pairs if pair.get("key") == MARK_KEY)
    return next((mark for mark in marks if mark is not None), None)
