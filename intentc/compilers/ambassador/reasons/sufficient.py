"""Finds the smallest sets of candidates that suffice for a result.

Pure; it calls ``brings_about`` many times, which must be pure, too. If one member of each of these sets is removed, the
remaining candidates don't bring about the result, whatever the rules are: a set that did would contain a smallest one.
That holds for up to ten candidates that don't suffice alone; of more, sets of three and more are not looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T")

_MOST_TRIED_TOGETHER = 10
"""The most candidates of which all combinations are tried; of more, pairs."""


def sufficient(candidates: Sequence[T], brings_about: Callable[[list[T]], bool]) -> Iterator[tuple[T, ...]]:
    """The smallest sets of ``candidates`` of which ``brings_about`` is true, the smallest first, each in the order of
    the candidates. All of them together, if no smaller set is found.

    >>> list(sufficient([1, 2, 3], lambda some: sum(some) >= 3))
    [(3,), (1, 2)]
    """
    alone = {position for position, one in enumerate(candidates) if brings_about([one])}
    yield from ((candidates[position],) for position in sorted(alone))
    rest = [position for position in range(len(candidates)) if position not in alone]
    found: list[set[int]] = []
    most = len(rest) if len(rest) <= _MOST_TRIED_TOGETHER else 2
    for size in range(2, most + 1):
        for chosen in combinations(rest, size):
            if not any(smaller <= set(chosen) for smaller in found):
                some = [candidates[position] for position in chosen]
                if brings_about(some):
                    found.append(set(chosen))
                    yield tuple(some)
    if not alone and not found:
        yield tuple(candidates)
