"""``python -m tests.perf [--short] [--write]``: measure, print the tables, and put them into docs/benchmarks.md.

Repetitions go round by round over sizes and targets, so that whatever else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import anyio

from . import figures, groups, hub, startup, world
from .parts import running_part


class Extent(NamedTuple):
    """How much is measured. ``worlds``: groups in each converged world; the last one is restarted over."""

    groups: tuple[int, ...]
    rounds: int
    worlds: tuple[int, ...]
    restarts: int
    changes: int
    kept: int
    storm: tuple[int, int]
    starts: int


FULL = Extent((100, 1_000, 10_000), 3, (333, 3_333), 3, 30, 20_000, (5_000, 10_000), 10)
SHORT = Extent((100,), 1, (50,), 1, 3, 2_000, (500, 500), 1)


async def measure(extent: Extent) -> figures.Figures:
    """Everything, once in a row."""
    runs: dict[str, list[list[groups.Run]]] = {target: [[] for _ in extent.groups] for target in ("sink", "server")}
    for number in range(extent.rounds):
        for place, count in enumerate(extent.groups):
            for target, sizes in runs.items():
                _report(f"round {number + 1} of {extent.rounds}: {count:,} groups to the {target}")
                sizes[place].append(await groups.measure(target, count))
    restarts, changes = [], []
    for count in extent.worlds:
        _report(f"a converged world of {3 * count:,} resources")
        async with world.converged(count) as site:
            if count == extent.worlds[-1]:
                restarts = [await world.restart(site, count) for _ in range(extent.restarts)]
            changes.append(await world.change(site, 3 * count, extent.changes))
    memory = {}
    for what in ("cached", "evaluated"):
        async with running_part("memory", what, str(extent.kept)) as part:
            memory[what] = float(part.ready["bytes"])
    _report(f"a storm of {extent.storm[1]:,} events on a hub")
    storm = await hub.storm(*extent.storm)
    started = startup.help_over_python(extent.starts)
    return figures.Figures(runs["sink"], runs["server"], restarts, changes, memory, storm, started)


def _report(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few seconds, small worlds: does it work at all?")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args()
    text = figures.tables(anyio.run(measure, SHORT if options.short else FULL))
    print(text)
    if options.write:
        figures.write(text)


if __name__ == "__main__":
    main()
