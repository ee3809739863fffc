"""The figures as tables of Markdown, and their place in docs/benchmarks.md: between two markers, all else is prose."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from .groups import Run
from .hub import Storm
from .world import Change, Restart

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"

T = TypeVar("T")


class Figures(NamedTuple):
    """All repetitions of everything. ``memory``: what → bytes a resource; ``started``: (``--help``, bare Python) ms."""

    sink: Sequence[Sequence[Run]]
    server: Sequence[Sequence[Run]]
    restarts: Sequence[Restart]
    changes: Sequence[Change]
    memory: dict[str, float]
    storm: Storm
    started: tuple[float, float]


def head() -> str:
    """When and on what it was measured."""
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end."
    )


def middle(items: Iterable[T], figure: Callable[[T], float]) -> float:
    """The median of one figure over repetitions."""
    return statistics.median(figure(item) for item in items)


def rate(runs: Sequence[Run]) -> float:
    """Groups a second."""
    return middle(runs, lambda run: run.groups / run.seconds)


def tables(figures: Figures) -> str:
    """Everything measured, with its floor and its budget beside it."""
    sink, server = figures.sink[-1], figures.server[-1]
    small, large = figures.changes[0], figures.changes[-1]
    shown, bare = figures.started
    listed = middle(figures.restarts, lambda r: r.seconds / r.floor_seconds)
    listed_cpu = middle(figures.restarts, lambda r: r.cpu / r.floor_cpu)
    budgets = [
        ("compiler's CPU a group, to the sink", middle(sink, lambda run: run.cpu), "≤ 250 µs", 250, False),
        ("groups/s from etcd to the sink", rate(sink), "≥ 3,000", 3000, True),
        ("groups/s through our API server and back", rate(server), "≥ 1,000", 1000, True),
        (f"one change, {large.resources:,} cached: of the floor", large.through / large.through_floor, "≤ 2", 2, False),
        ("the same up to the sink", large.to_sink / large.to_sink_floor, "≤ 2", 2, False),
        (
            f"one change to the sink, {large.resources:,} against {small.resources:,} cached",
            large.to_sink / small.to_sink,
            "≤ 1.2",
            1.2,
            False,
        ),
        (f"restart on {figures.restarts[0].resources:,}: of the floor, time", listed, "≤ 2.5", 2.5, False),
        ("the same in CPU", listed_cpu, "≤ 2.5", 2.5, False),
        ("bytes a cached resource of 1 KB", figures.memory["cached"], "≤ 4,096", 4096, False),
        ("bytes an evaluated one with 8 reads", figures.memory["evaluated"], "≤ 7,168", 7168, False),
        (
            f"evaluations of a hub, {figures.storm.interfaces:,} dependants, {figures.storm.events:,} events",
            figures.storm.evaluations,
            "≤ 100",
            100,
            False,
        ),
        ("`intentc --help` over bare Python, ms", shown - bare, "≤ 60", 60, False),
    ]
    lines = [
        f"{head()} Medians.",
        "",
        "| budget | wanted | measured | |",
        "|---|---|---|---|",
    ]
    for what, measured, wanted, limit, least in budgets:
        kept = measured >= limit if least else measured <= limit
        lines.append(f"| {what} | {wanted} | {number(measured)} | {'kept' if kept else '**missed**'} |")
    lines += ["", *_groups("To a sink that only acknowledges", figures.sink)]
    lines += ["", *_groups("Through our API server and back", figures.server)]
    lines += [
        "",
        "| one change, ms | through the API server | floor: two commits, one request | to the sink "
        "| floor: one of each |",
        "|---|---|---|---|---|",
    ]
    for one in figures.changes:
        times = (one.through, one.through_floor, one.to_sink, one.to_sink_floor)
        lines.append(f"| {one.resources:,} cached | " + " | ".join(f"{time:.1f}" for time in times) + " |")
    lines += ["", "| restart | seconds | CPU s | floor: seconds | floor: CPU s |", "|---|---|---|---|---|"]
    for again in figures.restarts:
        times = (again.seconds, again.cpu, again.floor_seconds, again.floor_cpu)
        lines.append(f"| {again.resources:,} resources, no write | " + " | ".join(f"{t:.2f}" for t in times) + " |")
    return "\n".join(lines)


def _groups(title: str, sizes: Sequence[Sequence[Run]]) -> list[str]:
    lines = [
        f"{title}:",
        "",
        "| groups | groups/s | compiler µs/group | RSS MiB | receiver µs/group | floor: list, decode, index µs/group "
        "| floor: put and seen/s | floor: lists posted, groups/s | time, of the floor's two together |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for runs in sizes:
        count = runs[0].groups
        figures = (
            rate(runs),
            middle(runs, lambda run: run.cpu),
            middle(runs, lambda run: run.memory),
            middle(runs, lambda run: run.server_cpu),
            middle(runs, lambda run: run.floor.cpu),
            middle(runs, lambda run: run.groups / run.floor.seen),
            middle(runs, lambda run: run.groups / run.floor.posted),
            middle(runs, lambda run: run.seconds / (run.floor.seen + run.floor.posted)),
        )
        lines.append(f"| {count:,} | " + " | ".join(map(number, figures)) + " |")
    return lines


def number(value: float) -> str:
    """With as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 20 else f"{value:.2f}"


def write(text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the tables into the document, between two markers. Raises ``ValueError`` if these are not there."""
    document = DOCUMENT.read_text()
    before, found, rest = document.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise ValueError(f"{DOCUMENT} has no {begin} … {end}")
    DOCUMENT.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
