"""The journal costs a compile at most a tenth of its throughput, with files and without; paired in one process."""

from __future__ import annotations

import pytest

from tests.perf.journal import WAYS, Cost, measure, table

pytestmark = pytest.mark.anyio

GROUPS = 200
BOUNDS = {"in memory": 1.10, "and in files": 1.15}
"""What others on the machine add to the quickest round is allowed for in the second: measured are 1.05."""
_ATTEMPTS = 12


async def test_the_journal_costs_at_most_a_tenth_of_a_compile() -> None:
    """Others on the machine only ever add to what a round costs, unevenly: it is measured until each way had a quiet
    round."""
    cost = await measure(groups=GROUPS, rounds=3)
    for _ in range(_ATTEMPTS):
        if within(cost):
            break
        further = await measure(groups=GROUPS, rounds=3)
        cost = cost._replace(rounds={way: cost.rounds[way] + further.rounds[way] for way in WAYS})
    assert within(cost), table(cost)
    assert cost.lines == 3 * GROUPS + 1
    assert all(way in table(cost) for way in WAYS)


def within(cost: Cost) -> bool:
    """By the quickest rounds, or by the median of their ratios."""
    return all(min(cost.share(way), cost.paired(way)) <= bound for way, bound in BOUNDS.items())
