"""What must hold after a fault, once the system is idle; every demand is checked from outside the processes.

- The world is what the naive oracle compiles from etcd. It knows no orphans: an object too many is a difference. That
  nothing unowned is touched, F01 proves by the set of keys that were written.
- Nothing was missed without being counted: no revision came twice, and each listing has its reason.
- A further pass writes nothing, and the compiler that writes nothing is alive: it repairs a deleted object.
- Memory, files and threads do not grow.
"""

from __future__ import annotations

from typing import Any

from intentc.watch.protocol import prefix_end
from tests.faults.process_system import ProcessSystem
from tests.oracle.contrail import mark
from tests.support.live_system import LiveSystem
from tests.support.processes import Process, Usage

MANY = 20
"""Objects that compilers must own before their silence says something (docs/engine.md §10)."""
_MORE_MEMORY = 16 << 20
_MORE_FILES = 4
_MORE_THREADS = 3

Values = dict[str, tuple[bytes, int]]
"""Key → (value, mod revision)."""


async def check(bench: ProcessSystem, compiler: Process, within: float) -> Process:
    """The world is right, and a restarted compiler writes nothing; that compiler. ``within``: seconds until idle."""
    world = bench.world
    await compiler.quiet(world.revision, within)
    await world.assert_compiled()
    return await writes_nothing_more(bench, within)


async def writes_nothing_more(bench: ProcessSystem, within: float) -> Process:
    """A restart over the converged world changes no key of it and no number, and a deleted object is repaired."""
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
    """All that the API server keeps for this world: resources, names, index entries and allocations."""
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
    """Why the world was listed → how often. No batch may have come twice."""
    watch = status["watch"]
    assert watch["missed_events"] == 0, watch
    return dict(watch["lists"])


def flat(before: Usage, after: Usage) -> None:
    """Nothing grew beyond the usual variation of a process."""
    assert after.memory - before.memory < _MORE_MEMORY, (before, after)
    assert after.files - before.files <= _MORE_FILES, (before, after)
    assert after.threads - before.threads <= _MORE_THREADS, (before, after)
