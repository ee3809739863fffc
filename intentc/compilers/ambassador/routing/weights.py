"""Divides requests or connections among the members of a group, by weights in percent (docs/ambassador.md §4.4).

The proportions are whole numbers that sum to the whole, so no request is lost where weights sum to less than 100
(docs/ambassador.md §5.4, §5.5). The callers report problems and configure Envoy.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Sequence

WHOLE = 100


def over_the_whole(weights: Sequence[int | None]) -> frozenset[int]:
    """The positions of members that would raise the sum above 100; later ones may still fit.

    >>> sorted(over_the_whole([60, 50, 40, None, 1]))
    [1, 4]
    """
    over: set[int] = set()
    left = WHOLE
    for position, weight in enumerate(weights):
        if weight is not None and weight > left:
            over.add(position)
        elif weight is not None:
            left -= weight
    return frozenset(over)


def proportions(weights: Sequence[int | None]) -> tuple[int, ...]:
    """The shares of members with these ``weights`` (None: not set), whose sum is at most 100.

    Members without a weight share equally what the others leave. If all have one, their sum is the whole; if that is
    zero, all share equally. A single member gets everything.

    >>> proportions([80, 20]), proportions([20, 30]), proportions([10, None, None]), proportions([0])
    ((80, 20), (20, 30), (20, 90, 90), (1,))
    """
    unset = sum(weight is None for weight in weights)
    if not unset and not any(weights):
        return (1,) * len(weights)
    left = WHOLE - sum(weight or 0 for weight in weights)
    return tuple(left if weight is None else weight * max(unset, 1) for weight in weights)
