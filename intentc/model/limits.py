"""The largest size of a resource, by what etcd accepts, and how deep a text is nested.

Why here: the API server rejects what the compilers would hold, with the same number. Nesting is measured before a text
is decoded: JSON decoders, and everything that traverses the values later, use the stack once per level, and a text of a
few thousand brackets makes them fail. Every value from etcd and every request body is checked, so the check must cost
next to nothing for valid ones. Callers decide how deep is too deep. ``evaluation/budget.py`` limits evaluations.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Any

LARGEST_VALUE = 1_572_864
"""Bytes of one resource as JSON: what etcd takes in one request by default (``--max-request-bytes``)."""


_STEPS = bytes.maketrans(b"{[]}", b"\x01\x01\xff\xff")
_REST = bytes(set(range(256)) - set(b"{[]}"))


def deeper_than(raw: bytes, levels: int) -> bool:
    """Whether objects and arrays in ``raw`` are nested deeper than ``levels``. For text that is not JSON the result is
    undefined."""
    # Each level has a bracket of its own, and most texts have too few.
    if raw.count(b"{") + raw.count(b"[") <= levels:
        return False
    steps = array("b", outside_texts(raw).translate(_STEPS, _REST))
    return max(accumulate(steps), default=0) > levels


def outside_texts(raw: bytes) -> bytes:
    """JSON without the content of its texts."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(raw.split(b'"')[::2])


def is_deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists in a decoded value are nested deeper than ``levels``."""
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)
