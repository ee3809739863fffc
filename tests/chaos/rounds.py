"""One round: people write, something breaks every few seconds; then all is whole, quiet and judged.

Judged is: a compile from scratch by ``intentc audit`` shows no difference; the naive oracle expects exactly what is
there, and each living owner has one number; new processes over the same world write nothing. A round
counts only if it had load: requests were accepted, and objects of compilers were edited by others.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import anyio

from intentc.watch.protocol import Put, prefix_end, unchanged
from tests.chaos.cluster_system import PATIENCE, ClusterSystem
from tests.chaos.faults import Faults
from tests.chaos.writers import Writers
from tests.faults.oracles import Values, changed, everything

_WRITERS = 3


class Round(NamedTuple):
    """``faults``: in their order. ``accepted``: requests that changed something. ``edits``: of objects that compilers
    made. ``owned``: such objects at the end. ``seconds``: until it was judged."""

    seed: int
    faults: tuple[str, ...]
    accepted: int
    edits: int
    owned: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.accepted} changes, {self.edits} edits of outputs, {self.owned} outputs at the "
            f"end, {self.seconds:.0f} s: {'; '.join(self.faults)}"
        )


async def play(system: ClusterSystem, seed: int, *, faults: int, period: float) -> Round:
    """Play and judge one round with so many ``faults``, each of which lasts for about half of ``period`` seconds.
    Raises ``AssertionError`` with what is wrong."""
    began, chance, happened = time.monotonic(), random.Random(seed), []
    writers = Writers(system.urls, chance)

    async def for_a_while() -> None:
        await anyio.sleep(period * chance.uniform(0.3, 0.7))

    table = Faults(system, chance, for_a_while).table
    async with anyio.create_task_group() as group:
        group.start_soon(writers.write, _WRITERS)
        for _ in range(faults):
            await for_a_while()
            name = chance.choice(sorted(table))
            happened.append(name)
            await table[name]()
            await system.heal()
        await _enough(writers)
        group.cancel_scope.cancel()
    await system.heal()
    owned = await _judged(system)
    seconds = time.monotonic() - began
    return Round(seed, tuple(happened), writers.answers[200], writers.edits, owned, seconds)


async def _enough(writers: Writers) -> None:
    """Wait for the load without which a round says nothing."""
    with anyio.fail_after(PATIENCE):
        while writers.answers[200] < 20 or writers.edits < 2:  # noqa: ASYNC110 - counters have no event
            await anyio.sleep(0.05)


async def _judged(system: ClusterSystem) -> int:
    """How many objects of compilers there are, once all of them are proven right."""
    world = system.world
    before = await _audited(system)
    await world.assert_compiled()
    owned = len(await world.owned())
    latest = max(revision for _, revision in before.values())
    await system.restarted()
    await system.quiet(latest)
    written = changed(before, await everything(world))
    assert not written, f"a restart over a converged world writes {sorted(written)}"
    return owned


async def _audited(system: ClusterSystem) -> Values:
    """What lies in etcd while an audit finds no difference. A request whose answer nobody waited for may still change
    something; then the audit is made again."""
    with anyio.fail_after(PATIENCE):
        while True:
            await system.quiet(await _written_last(system))
            before = await everything(system.world)
            differences = await system.audit()
            if await everything(system.world) == before:
                assert not differences, differences
                return before


async def _written_last(system: ClusterSystem) -> int:
    """The revision of a write after all others: a resource with the value that it has. The revision of etcd would not
    do, since heartbeats and pools raise it, and a compiler applies neither."""
    store, path = system.world.store, system.world.path
    prefix = f"/{path}/project/"
    while True:
        item = (await store.range(prefix, prefix_end(prefix))).items[0]
        written = await store.transaction([unchanged(item.key, item.mod_revision)], [Put(item.key, item.value)])
        if written.succeeded:
            return written.revision
