"""How much the examples of a run relate: reported to Hypothesis, counted, and demanded at the end (docs/engine.md §10).

A property that holds for resources that have nothing to do with each other says nothing. It counts whole runs of the
examples' bodies; what an example is made of is not its business.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import event

LEAST_SHARE = 0.3
FEWEST = 25
"""Examples that make a share worth looking at: a replayed blob runs one, ``make properties`` hundreds."""


REPORTS: list[str] = []
"""What the properties of this run report; shown at its end."""


class Examples:
    """The features seen in the examples of one property."""

    def __init__(self, *demanded: str) -> None:
        self._demanded = demanded
        self._seen: Counter[str] = Counter()
        self._runs = 0

    def note(self, features: set[str]) -> None:
        """One example has run to its end, and shows these."""
        self._runs += 1
        self._seen.update(features)
        for feature in sorted(features):
            event(feature)

    def check(self) -> None:
        """Report, and fail if too few examples have a feature that is demanded."""
        REPORTS.append(str(self))
        if self._runs < FEWEST:
            return
        shares = {feature: self._seen[feature] / self._runs for feature in self._demanded}
        poor = {feature: f"{share:.0%}" for feature, share in shares.items() if share < LEAST_SHARE}
        assert not poor, f"of {self._runs} examples too few relate, {LEAST_SHARE:.0%} are demanded: {poor}"

    def __str__(self) -> str:
        return f"{self._runs} examples: " + ", ".join(
            f"{count / self._runs:.0%} {feature}" for feature, count in self._seen.most_common()
        )
