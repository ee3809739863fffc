"""Worlds of several sizes, each measured in a process of its own, so that none pays for another's memory.

``python -m MODULE SIZE`` measures one and prints one line of JSON; without a size it measures all of a bench's sizes,
prints their table, and with ``--write`` puts it into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from . import figures


class Bench(NamedTuple):
    """``module``: its name; ``measure``: what a world of a size costs, a ``cost``; ``table``: all costs in Markdown;
    ``begin``, ``end``: the markers in docs/benchmarks.md."""

    module: str
    about: str | None
    sizes: Sequence[int]
    cost: type[Any]
    measure: Callable[[int], Any]
    table: Callable[[Iterable[Any]], str]
    begin: str
    end: str


def run(bench: Bench) -> None:
    """The command. Raises ``CalledProcessError`` if a measurement fails."""
    parser = argparse.ArgumentParser(prog=f"python -m {bench.module}", description=bench.about)
    parser.add_argument("size", type=int, nargs="?")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.size is not None:
        print(json.dumps(bench.measure(options.size)._asdict()))
        return
    text = f"{figures.head()}\n\n{bench.table([_apart(bench, size) for size in bench.sizes])}"
    print(text)
    if options.write:
        figures.write(text, bench.begin, bench.end)


def _apart(bench: Bench, size: int) -> Any:
    command = [sys.executable, "-m", bench.module, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=figures.DOCUMENT.parents[1])
    return bench.cost(**json.loads(done.stdout))
