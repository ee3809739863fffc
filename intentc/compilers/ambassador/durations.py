"""Durations as users write them (``3s``, ``0.25s``, ``1m30s``) and as Envoy's JSON has them (``3.000s``).

In between they are whole milliseconds, so that two spellings of one duration are one value.
"""

from __future__ import annotations

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_MOST = 9_223_372_035_000
"""The longest duration that Envoy accepts: it counts nanoseconds in 63 bits, about 292 years (tried out)."""


def milliseconds(text: str) -> int | None:
    """The length of time that ``text`` names, in milliseconds; None if it names none, or one that Envoy can't take.

    >>> milliseconds("0.25s"), milliseconds("1h30m"), milliseconds("soon")
    (250, 5400000, None)
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    found = sum(float(number) * _MILLISECONDS[unit] for number, unit in parts)
    return round(found) if found <= _MOST else None


def duration(length: int) -> str:
    """A length of time in milliseconds as Envoy's JSON has it; the longest that it takes for any that is longer.

    >>> duration(1500)
    '1.500s'
    """
    length = min(length, _MOST)
    return f"{length // 1000}.{length % 1000:03d}s"
