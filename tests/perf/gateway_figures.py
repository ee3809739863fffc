"""The worlds of gateways that are measured, each in a process of its own, and the table of what they cost."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TextIO

from . import figures

BEGIN, END = "<!-- gateways: written by make bench -->", "<!-- end of gateways -->"


class Extent(NamedTuple):
    """One world. ``hosts`` 0: one, and every Mapping has a Service with Endpoints of its own all the same."""

    mappings: int
    hosts: int
    wildcard: bool = False

    @property
    def title(self) -> str:
        if self.hosts < 2:
            return f"{self.mappings:,} Mappings"
        return f"{self.mappings:,} {'wildcard ' if self.wildcard else ''}Mappings × {self.hosts:,} Hosts"


class Cost(NamedTuple):
    """What one world costs, in seconds of CPU of its process; one change in seconds as they pass, since it is done
    between two ticks of the CPU's clock.

    ``compiled``: everything applied and evaluated; ``full``: planned, written and seen again, too. ``change``: the same
    for one Mapping's prefix, the median of many, and ``quickest`` the least, which nothing else on the machine
    disturbed; ``writes``: objects that it wrote. ``rss``: MiB after ``full``.
    ``encoded``: all elements decoded and encoded by the xDS server, ``assembled``: and the responses to Envoys made of
    them; ``route`` and ``table``: the same after one change. ``taken`` and ``updated`` are seconds as they pass, 0
    without a real Envoy: until it has started and accepted everything, and until it has accepted one change.
    """

    mappings: int
    hosts: int
    wildcard: bool
    elements: int
    compiled: float
    full: float
    change: float
    quickest: float
    writes: int
    rss: float
    encoded: float
    assembled: float
    route: float
    table: float
    taken: float
    updated: float

    @property
    def world(self) -> Extent:
        return Extent(self.mappings, self.hosts, self.wildcard)


FULL = (
    Extent(100, 0),
    Extent(1_000, 0),
    Extent(10_000, 0),
    Extent(1_500, 1_000),
    Extent(1_000, 100, wildcard=True),
)
ROUNDS = 3


def measured(
    worlds: Sequence[Extent], progress: TextIO, *, rounds: int = ROUNDS, changes: int = 100, envoy: bool = True
) -> list[Cost]:
    """Each world several times, round by round, so that whatever else the machine does falls on all alike; of each
    figure the least, since CPU time only ever grows by others' doing. Raises ``CalledProcessError``."""
    found: dict[Extent, list[Cost]] = {world: [] for world in worlds}
    for number in range(rounds):
        for world, costs in found.items():
            print(f"round {number + 1} of {rounds}: {world.title}", file=progress, flush=True)
            costs.append(_measured(world, changes, envoy))
    return [Cost(*map(min, zip(*costs, strict=True))) for costs in found.values()]


def _measured(world: Extent, changes: int, envoy: bool) -> Cost:
    command = [sys.executable, "-m", "tests.perf.gateways", str(world.mappings), str(world.hosts)]
    command += ["--changes", str(changes), *(["--wildcard"] if world.wildcard else []), *(["--envoy"] if envoy else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=figures.DOCUMENT.parents[1])
    return Cost(**json.loads(done.stdout))


def table(costs: Iterable[Cost]) -> str:
    """The costs as a table of Markdown, under the machine and the day."""
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end. CPU of one process (one "
        f"change, Envoy: time), the least of {ROUNDS} runs.",
        "",
        "| world | elements | compiled, s | and planned, written, seen, s | RSS, MiB | one change, ms "
        "| objects it writes | xDS: all encoded, s | all assembled, ms | one change encoded, ms | and assembled, ms "
        "| Envoy: started, all taken, s | one change taken, ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cost in costs:
        shown = (
            cost.elements,
            cost.compiled,
            cost.full,
            cost.rss,
            cost.change * 1000,
            cost.writes,
            cost.encoded,
            cost.assembled * 1000,
            cost.route * 1000,
            cost.table * 1000,
            cost.taken,
            cost.updated * 1000,
        )
        lines.append(f"| {cost.world.title} | " + " | ".join(map(figures.number, shown)) + " |")
    return "\n".join(lines)


def write(text: str) -> None:
    """Put the table into docs/benchmarks.md. Raises ``ValueError`` if its markers are not there."""
    figures.write(text, BEGIN, END)
