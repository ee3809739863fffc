"""What the journal costs: the same groups compiled in one process with the journal, with its files, and without both.

    python -m tests.perf.journal [GROUPS] [ROUNDS] [--write]

Paired: each round compiles the same world once in each way, in turn, by an engine over memory that writes to somebody
who acknowledges everything; so nothing but the compiler's own work is counted, and the journal's share of it is larger
than it is beside etcd and an API server. CPU of the whole process, the thread that writes the files included.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast
from unittest.mock import patch

import anyio
import anyio.lowlevel

from intentc.engine.assembly import assemble
from intentc.engine.engine import Engine
from intentc.journal.keeping import Keeping
from intentc.journal.ring import JournalFiles, this_process
from intentc.loading.configuration import Configuration
from intentc.model import Batch, Change, Snapshot
from intentc.plugins import Loaded, installed
from intentc.writing import DryRun, ReadService

from . import made
from .figures import number, write

WAYS = ("without", "in memory", "and in files")
BEGIN, END = "<!-- journal: written by python -m tests.perf.journal --write -->", "<!-- end of the journal -->"
_TRANSACTION = 100
"""Groups that come in one revision, as in the other benches."""
_PERIOD = 0.005


class Cost(NamedTuple):
    """CPU of each round by way, in seconds; ``lines``: of the journal, a round; ``file_bytes``: what files took of it;
    ``memory``: what the ring takes for these lines, by its own estimation."""

    groups: int
    rounds: dict[str, list[float]]
    lines: int
    file_bytes: int
    memory: int

    def share(self, way: str) -> float:
        """CPU of ``way`` over that without a journal: of the quickest rounds, since noise only ever adds."""
        return min(self.rounds[way]) / min(self.rounds["without"])

    def paired(self, way: str) -> float:
        """The median over rounds of the same."""
        pairs = zip(self.rounds[way], self.rounds["without"], strict=True)
        return statistics.median(one / other for one, other in pairs)


async def measure(groups: int, rounds: int) -> Cost:
    """All ways by turns."""
    loaded, world = installed(Configuration()), _world(groups)
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    kept = (0, 0, 0)
    for turn in range(-1, rounds):
        for step in range(len(WAYS)):
            way = WAYS[(turn + step) % len(WAYS)]
            with tempfile.TemporaryDirectory() as directory, _noting(way):
                seconds, engine = await _compile(loaded, world, groups, Path(directory) if way == WAYS[2] else None)
                if way == WAYS[2]:
                    journal = engine.journal
                    kept = (journal.last, _size(Path(directory)), journal.size_bytes)
            if turn >= 0:  # the first round is to warm up
                found[way].append(seconds)
    return Cost(groups, found, *kept)


def _size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def _world(groups: int) -> list[Snapshot | Batch]:
    """A listing of the project, then the groups."""
    items: list[Snapshot | Batch] = [Snapshot(1, (_change(made.project(), 1),))]
    for begin in range(0, groups, _TRANSACTION):
        revision = len(items) + 1
        values = map(made.security_group, range(begin, min(begin + _TRANSACTION, groups)))
        items.append(Batch(revision, tuple(_change(value, revision) for value in values)))
    return items


def _change(item: tuple[str, bytes], revision: int) -> Change:
    kind, uuid = item[0].split("/")[-2:]
    return Change(kind, uuid, item[1], revision, revision)


@contextmanager
def _noting(way: str) -> Iterator[None]:
    """Without a journal not even its lines are made."""
    if way != "without":
        yield
        return
    nothing = "intentc.journal.Journal"
    with (
        patch("intentc.engine.evaluator.Entry", lambda **fields: None),
        patch("intentc.engine.writes.Write", lambda **fields: None),
        patch(f"{nothing}.add", lambda self, line: None),
        patch(f"{nothing}.wrote", lambda self, line: None),
    ):
        yield


async def _compile(
    loaded: Loaded, world: list[Snapshot | Batch], groups: int, directory: Path | None
) -> tuple[float, Engine]:
    server = DryRun()
    nobody = cast(ReadService, None)  # nothing fails, so nothing is read back
    engine = assemble(loaded, server, nobody, installation=made.INSTALLATION, process="bench")
    keeping = _keeping(engine, directory) if directory is not None else None

    async def events() -> AsyncIterator[Snapshot | Batch]:
        for item in world:
            yield item
            await anyio.lowlevel.checkpoint()
        await anyio.sleep_forever()

    gc.collect()
    begun = time.process_time()
    async with anyio.create_task_group() as group:
        group.start_soon(engine.run, events())
        if keeping is not None:
            group.start_soon(keeping.run)
        while not (engine.sender.written >= 2 * groups and engine.quiet):  # noqa: ASYNC110 - as elsewhere
            await anyio.sleep(_PERIOD)
        group.cancel_scope.cancel()
    if keeping is not None:
        keeping.end()
        assert keeping.lost == 0
    return time.process_time() - begun, engine


def _keeping(engine: Engine, directory: Path) -> Keeping:
    files = JournalFiles(directory, files=8, file_bytes=8_000_000, process=this_process("bench", "bench", 0.0))
    return Keeping(engine.journal, files, engine.world.name_of, engine.world.at_start)


def table(cost: Cost) -> str:
    """The figures as Markdown."""
    lines = [
        f"{cost.groups:,} groups, {cost.lines:,} lines a round, {len(cost.rounds['without'])} rounds; "
        f"a line takes {cost.file_bytes / cost.lines:,.0f} bytes in a file, and counts as "
        f"{cost.memory / min(cost.lines, 10_000):,.0f} in memory.",
        "",
        "| journal | compiler µs/group, quickest round | over none | median of the rounds' ratios |",
        "|---|---|---|---|",
    ]
    for way in WAYS:
        micros = min(cost.rounds[way]) / cost.groups * 1e6
        lines.append(f"| {way} | {number(micros)} | {cost.share(way):.3f} | {cost.paired(way):.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perf.journal", description=__doc__)
    parser.add_argument("groups", type=int, nargs="?", default=2_000)
    parser.add_argument("rounds", type=int, nargs="?", default=15)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    text = table(anyio.run(measure, options.groups, options.rounds))
    print(text)
    if options.write:
        write(text, BEGIN, END)


if __name__ == "__main__":
    main()
