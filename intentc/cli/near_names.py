"""Suggests names of resources that resemble one that does not exist.

Why apart from ``naming``: ``lookup``, which ``naming`` calls, needs it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NEAR_NAMES = 5
_COMPARED = 2_000
"""Names whose spelling is compared, those of about the same length first."""


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """At most five fq_names (joined by ``:``) that resemble ``name``: those that contain it, else those whose last
    element has a similar spelling."""
    names = sorted(set(known))
    last = name.rpartition(":")[2]
    if holding := [one for one in names if name in one]:
        return holding[:_NEAR_NAMES]
    by_last: dict[str, list[str]] = {}
    for one in sorted(names, key=lambda one: abs(len(one) - len(name)))[:_COMPARED]:
        by_last.setdefault(one.rpartition(":")[2], []).append(one)
    near = [one for each in difflib.get_close_matches(last, by_last, _NEAR_NAMES) for one in by_last[each]]
    return near[:_NEAR_NAMES]
