"""Faults between a cluster and etcd: both have the same afterwards, and a further pass writes nothing.

The bridge runs in this process, between a cluster over sockets and a store in memory; the compiler is Ambassador's. The
short form tries each fault a few times; ``make faults`` tries every byte, and many seeds.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

from intentc.bridges.kubernetes import fenced_writer, informer, kind_watcher
from intentc.bridges.kubernetes.serving import Bridge
from intentc.directives import AllowDeletes, Book
from intentc.plugins import Loaded
from intentc.reconcile import loop
from intentc.reconcile.backoff import Backoff, Retries
from tests.faults.fault_proxy import fault_proxy
from tests.faults.scale import FULL
from tests.faults.scale_writing import seeded
from tests.support.kube.fake_cluster import running_fake_cluster
from tests.support.kube.mirrored_system import (
    KINDS,
    MAPPINGS,
    NAMES,
    MirroredSystem,
    ambassador,
    install_kinds,
    mapping,
)
from tests.support.waiting import until, until_true

pytestmark = pytest.mark.anyio

ROUNDS = 200 if FULL else 8
BYTES = range(1, 2_500) if FULL else (1, 13, 64, 150, 151, 400, 700, 1_300)
"""Of an answer of the cluster, after which its connection is cut."""
SEEDS = range(30) if FULL else range(2)
_SOON = Backoff(0.005, 0.05)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return ambassador()


@pytest.fixture
async def system(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MirroredSystem]:
    """A populated cluster, without a bridge yet. Attempts are repeated soon, and a page has ten objects."""
    monkeypatch.setattr(kind_watcher, "Retries", lambda *backoff: Retries(_SOON))
    monkeypatch.setattr(fenced_writer, "_AGAIN", _SOON)
    monkeypatch.setattr(loop, "AWAY", _SOON)
    monkeypatch.setattr(informer, "PAGE", 10)
    async with running_fake_cluster(install_kinds) as cluster:
        made = MirroredSystem(cluster, loaded, seeded())
        made.populate()
        yield made


def _phase(bridge: Bridge, kind: str = "mapping") -> str:
    return str(bridge.status()["kinds"].get(kind, {}).get("phase", ""))


def _copies(bridge: Bridge) -> int:
    return sum(bridge.mirror.counts(kind)[1] for kind in bridge.tasks)


async def test_a_connection_that_is_cut_at_any_byte_of_a_list_or_a_watch(system: MirroredSystem) -> None:
    async with fault_proxy(f"127.0.0.1:{system.cluster.port}") as proxy:
        system.address = f"http://{proxy.address}"
        cuts = 0
        async with system.bridge() as bridge:
            for count in BYTES:
                proxy.cut_inside(count)
                for _ in range(3):
                    system.change()
                await until_true(system.same)
                cuts += proxy.cut_done.is_set()
            await proxy.heal()
            await system.assert_right(bridge)
        assert 2 * cuts >= len(BYTES)
        for count in BYTES:
            proxy.cut_inside(count)
            async with system.bridge() as bridge:
                system.change()
                await until_true(system.same)
        await proxy.heal()
        # The last change may have taken a status from the cluster, and its bridge ended before it wrote that again.
        async with system.bridge() as bridge:
            await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_revisions_that_are_compacted_at_any_time(system: MirroredSystem) -> None:
    """Between two pages, before a watch, and while one is cut."""
    async with system.bridge() as bridge:
        for _ in range(ROUNDS):
            system.change()
            system.cluster.faults += system.chance.choices([410, 200], k=2)
            system.cluster.faults = [fault for fault in system.cluster.faults if fault != 200]
            system.cluster.cut()
            system.change()
            system.cluster.compact()
            await until(lambda: not system.cluster.faults)
            await until_true(system.same)
        assert sum(task.watcher.counters["lists"] for task in bridge.tasks.values()) > len(KINDS)
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_events_that_come_twice_and_late(system: MirroredSystem) -> None:
    system.cluster.repeated = 20
    async with system.bridge() as bridge:
        for _ in range(ROUNDS):
            system.change()
            system.change()
            await until_true(system.same)
        await system.assert_right(bridge)
        before, written = await system.values(), bridge.copy_writer.counters.copy()
        events = bridge.tasks["mapping"].watcher.counters["events"]
        system.cluster.cut()
        await until(lambda: bridge.tasks["mapping"].watcher.counters["events"] >= events + system.cluster.repeated)
        await until(lambda: bridge.status()["converged"])
        assert (await system.values(), bridge.copy_writer.counters) == (before, written)
    await system.assert_second_pass_writes_nothing()


async def test_an_api_server_that_is_empty_for_a_while_deletes_nothing(system: MirroredSystem) -> None:
    """As after a restart without its etcd, which then is restored."""
    async with system.bridge() as bridge:
        await system.assert_right(bridge)
        saved, uid, outputs = system.cluster.saved(), system.cluster.uid, system.compiler.outputs()
        before = await system.values()
        system.cluster.emptied()
        await until(lambda: len(bridge.mirror.withheld) == len(KINDS))
        await system.compiler.settle()
        assert (await system.values(), system.compiler.outputs()) == (before, outputs)
        system.cluster.uid = uid
        system.cluster.restore(saved)
        await until(lambda: not bridge.mirror.withheld)
        system.change()
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_a_restored_api_server_deletes_nothing_without_approval(
    system: MirroredSystem,
) -> None:
    async with system.bridge() as bridge:
        await system.assert_right(bridge)
        saved = system.cluster.saved()
        added = [f"m{number}" for number in range(50, 53)]
        for name in added:
            system.cluster.put(MAPPINGS, mapping(name))
        await system.quiet(bridge)
        copies = _copies(bridge)
        system.cluster.restore(saved)
        await until(lambda: "mapping" in bridge.mirror.withheld)
        assert _copies(bridge) == copies
        assert "older than" in bridge.status()["attention"][0]
        await Book(system.store, "default/kubernetes").put(AllowDeletes(kind="mapping"))
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_a_token_that_ended(system: MirroredSystem, tmp_path: Path) -> None:
    system.token_file = tmp_path / "token"
    for number in range(3):
        system.cluster.token = f"token-{number}"
        system.token_file.write_text(system.cluster.token)
        async with system.bridge() as bridge:
            await until(lambda bridge=bridge: bridge.status()["converged"])  # type: ignore[misc]
            system.cluster.token = "another"
            system.cluster.cut()
            system.change()
            system.change()
            await until(lambda: all(_phase(bridge, kind) == "denied" for kind in bridge.tasks))
            assert any("401" in reason for reason in bridge.ready()[1]), bridge.ready()
            system.token_file.write_text(system.cluster.token)
            await system.assert_right(bridge)
            assert bridge.ready()[0]
    await system.assert_second_pass_writes_nothing()


async def test_a_cluster_that_is_overloaded_or_fails(system: MirroredSystem) -> None:
    async with system.bridge() as bridge:
        for _ in range(ROUNDS):
            system.cluster.faults += system.chance.choices([429, 500, 502, 503, 504, "cut"], k=6)
            system.cluster.cut()
            for _ in range(4):
                system.change()
            await until(lambda: not system.cluster.faults)
            await until_true(system.same)
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_a_kind_that_is_installed_later(system: MirroredSystem) -> None:
    system.cluster.drop_kind(MAPPINGS)
    async with system.bridge() as bridge:
        await until(lambda: bridge.status()["kinds"].get("mapping", {}).get("synced", False))
        await until(lambda: _phase(bridge) == "not served")
        # The missing kind keeps nobody; the other kinds are listed meanwhile.
        await until(lambda: bridge.ready()[0])
        system.cluster.serve(MAPPINGS, "Mapping")
        for name in NAMES:
            system.cluster.put(MAPPINGS, mapping(name))
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_copies_of_a_kind_without_definition_stay_until_approval(
    system: MirroredSystem,
) -> None:
    async with system.bridge() as bridge:
        await system.assert_right(bridge)
        outputs = system.compiler.outputs()
        system.cluster.drop_kind(MAPPINGS)
        await until(lambda: len(bridge.mirror.withheld.get("mapping", ((), ()))[1]) == len(NAMES))
        await system.compiler.settle()
        assert system.compiler.outputs() == outputs
        (words,) = bridge.status()["attention"]
        assert "the cluster no longer serves this kind" in words
        assert "intentc allow-deletes --mirrored mapping" in words
        await Book(system.store, "default/kubernetes").put(AllowDeletes(kind="mapping"))
        await until_true(system.same)
        system.cluster.serve(MAPPINGS, "Mapping")
        for name in NAMES:
            system.cluster.put(MAPPINGS, mapping(name))
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_etcd_that_is_away(system: MirroredSystem) -> None:
    async with system.bridge() as bridge:
        await until_true(system.same)
        for _ in range(3):
            system.store.faults.unreachable = True
            for _ in range(5):
                system.change()
            await until(lambda: not bridge.ready()[0])
            system.store.faults.unreachable = False
            await until(lambda: bridge.ready()[0])
            await until_true(system.same)
        await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()


async def test_one_of_two_bridges_acts_and_the_other_continues_where_it_stopped(system: MirroredSystem) -> None:
    ends = [anyio.Event() for _ in range(4)]

    async def at_work(number: int, *, task_status: anyio.abc.TaskStatus[Bridge]) -> None:
        async with system.bridge(str(number)) as bridge:
            task_status.started(bridge)
            await ends[number].wait()

    async with anyio.create_task_group() as group:
        leading: Bridge = await group.start(at_work, 0)
        for number in range(1, len(ends)):
            await until(lambda leading=leading: leading.election.fence() is not None)  # type: ignore[misc]
            other: Bridge = await group.start(at_work, number)
            for _ in range(3):
                system.change()
            await system.quiet(leading)
            await until(lambda other=other: other.ready()[0])  # type: ignore[misc]
            assert not other.copy_writer.counters, "it only watches"
            assert not other.reporter.counters
            for _ in range(3):
                system.change()
            ends[number - 1].set()
            await system.assert_right(other)
            leading = other
        ends[-1].set()
    await system.assert_second_pass_writes_nothing()


@pytest.mark.parametrize("seed", SEEDS)
async def test_all_of_it_at_random(system: MirroredSystem, seed: int, tmp_path: Path) -> None:
    """Prints its seed: ``INTENTC_SEED`` and the number replay it."""
    chance = system.chance = random.Random(seed)
    system.token_file = tmp_path / "token"
    system.token_file.write_text("a")
    async with fault_proxy(f"127.0.0.1:{system.cluster.port}") as proxy:
        system.address = f"http://{proxy.address}"

        async def step() -> None:
            match chance.randrange(9):
                case 0:
                    proxy.cut_inside(chance.randrange(1, 2_000))
                case 1:
                    system.cluster.compact()
                case 2:
                    system.cluster.cut()
                case 3:
                    system.cluster.faults += chance.choices([410, 429, 500, 503, "cut"], k=chance.randrange(5))
                case 4:
                    system.cluster.repeated = chance.randrange(10)
                case 5:
                    system.store.faults.unreachable = not system.store.faults.unreachable
                case 6:
                    system.cluster.token = chance.choice(["", "a", "b"])
                    token_file.write_text(chance.choice(["a", "b"]))
                case 7:
                    await proxy.heal()
                case _:
                    await system.compiler.settle() if not system.store.faults.unreachable else None
            for _ in range(chance.randrange(4)):
                system.change()

        token_file: Any = system.token_file
        for _ in range(3):
            async with system.bridge() as bridge:
                for _ in range(ROUNDS):
                    await step()
                    await until(lambda: bridge.healthy() or system.store.faults.unreachable)
                system.store.faults.unreachable = False
        await proxy.heal()
        system.cluster.faults, system.cluster.token = [], ""
        async with system.bridge() as bridge:
            await system.assert_right(bridge)
    await system.assert_second_pass_writes_nothing()
