"""What must hold after a fault, once all is quiet: the oracles O1 to O8 of the fault scenarios, asked from outside.

O1 what is there is what the naive oracle compiles from etcd. O2 no orphan is left (the naive oracle knows neither marks
nor orphans: an object too many is a difference); that nothing unowned is touched, F01 proves by the set of keys that
were written. O3 nothing was missed without being counted: no revision came twice, and each listing has its reason. O4 a
further pass writes nothing, and the compiler that keeps silent is not a dead one. O7 memory, files and threads don't
grow. O5 (``why``), O6 (incremental is full, which O1 after load shows) and O8 (fences) have tests of their own.
"""

from __future__ import annotations

from typing import Any

from intentc.watch.protocol import prefix_end
from tests.oracle.contrail import mark
from tests.support.live_system import LiveSystem
from tests.support.process_system import ProcessSystem
from tests.support.processes import Process, Usage

MANY = 20
"""Objects that compilers must own before their silence says something (docs/engine.md §10)."""
_MORE_MEMORY = 16 << 20
_MORE_FILES = 4
_MORE_THREADS = 3

Values = dict[str, tuple[bytes, int]]
"""Key → (value, mod revision)."""


async def check(bench: ProcessSystem, compiler: Process, within: float) -> Process:
    """O1 and O2 now, then O4 over a restart; the compiler that runs afterwards. ``within``: seconds for quiet."""
    world = bench.world
    await compiler.quiet(world.revision, within)
    await world.assert_compiled()
    return await writes_nothing_more(bench, within)


async def writes_nothing_more(bench: ProcessSystem, within: float) -> Process:
    """O4: a restart over the converged world changes no key of it and no number, and a deleted object is repaired."""
    world = bench.world
    assert len(await world.owned()) >= MANY, "a silence that says nothing"
    before = await everything(world)
    again = await bench.restarted()
    status = await again.quiet(world.revision, within)
    assert status["counters"]["evaluations"] >= MANY
    assert status["counters"]["writes"] == 0
    assert changed(before, await everything(world)) == set()

    lists = (await world.stored())[world.made]
    victim = next(uuid for uuid, found in sorted(lists.items()) if mark(found))
    await world.delete(world.made, victim)
    status = await again.quiet(world.revision, within)
    assert status["counters"]["writes"] == 1
    assert (await world.stored())[world.made].keys() == lists.keys()
    return again


async def everything(world: LiveSystem) -> Values:
    """All that the API server keeps for this world: resources, names and index entries, the ledger."""
    found: Values = {}
    for prefix in (f"/{world.path}/", f"/intentc/apiserver/{world.path}/"):
        items = (await world.store.range(prefix, prefix_end(prefix))).items
        found |= {item.key: (item.value, item.mod_revision) for item in items}
    assert found
    return found


def changed(before: Values, after: Values) -> set[str]:
    """The keys that were written or deleted in between."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def listed(status: dict[str, Any]) -> dict[str, int]:
    """O3, the part that is counted: why the world was listed → how often. No batch may have come twice."""
    watch = status["watch"]
    assert watch["missed_events"] == 0, watch
    return dict(watch["lists"])


def flat(before: Usage, after: Usage) -> None:
    """O7: nothing grew beyond what a process breathes."""
    assert after.memory - before.memory < _MORE_MEMORY, (before, after)
    assert after.files - before.files <= _MORE_FILES, (before, after)
    assert after.threads - before.threads <= _MORE_THREADS, (before, after)
