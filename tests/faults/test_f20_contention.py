"""F20: another writer reverts one field for ever. That object is reported and backs off, all others converge, and it
recovers when the other gives up. Much work of one intent is no contention."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest

from intentc.reconcile import backoff
from intentc.reconcile.backoff import Backoff
from intentc.service.service import CompilerService
from intentc.watch.protocol import prefix_end
from tests.faults.faulty_system import FaultySystem
from tests.faults.scale_writing import FULL, SCALE
from tests.faults.server_faults import Slow, no_fault
from tests.faults.writing_load import lists_of_many, many_groups
from tests.support.contrail_content import LOCAL, group, network, rule, rules, targets, tenant
from tests.support.live_system import PROJECT, LiveSystem
from tests.support.waiting import PATIENCE, until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

LIST = (*PROJECT, "group-0", "ingress-access-control-list")
INSTANCE = (*PROJECT, "network-0", "network-0")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contended object backs off from 1 second instead of 1 minute, unless there is time."""
    if not FULL:
        monkeypatch.setattr(backoff, "CONTENDED", Backoff(1.0, 3600.0, jitter=0))


async def empty_list(world: LiveSystem) -> bool:
    return await _edit(world, "access_control_list", LIST, "access_control_list_entries", {"acl_rule": []})


async def drop_targets(world: LiveSystem) -> bool:
    return await _edit(world, "routing_instance", INSTANCE, "route_target_refs", [])


async def delete_list(world: LiveSystem) -> bool:
    for uuid, _ in await _named(world, "access_control_list", LIST):
        await world.delete("access_control_list", uuid)
        return True
    return False


async def _edit(world: LiveSystem, kind: str, name: tuple[str, ...], field: str, value: Any) -> bool:
    for uuid, found in await _named(world, kind, name):
        if found.get(field) not in (None, [], value):
            await world.update(kind, uuid, **{field: value})
            return True
    return False


async def _named(world: LiveSystem, kind: str, name: tuple[str, ...]) -> list[tuple[str, dict[str, Any]]]:
    """The objects of this name with their uuids. Asked a hundred times a second: nothing else is decoded."""
    prefix, called = f"/{world.path}/{kind}/", msgspec.json.encode(name)
    items = (await world.store.range(prefix, prefix_end(prefix))).items
    return [(item.key.removeprefix(prefix), msgspec.json.decode(item.value)) for item in items if called in item.value]


class Opponent:
    """Sets back what it finds right, as soon as it is; ``reverts``: how often it did."""

    def __init__(self, world: LiveSystem, revert: Callable[[LiveSystem], Awaitable[bool]]) -> None:
        self.world = world
        self.revert = revert
        self.reverts = 0

    async def contend(self) -> None:
        while True:
            self.reverts += await self.revert(self.world)
            await anyio.sleep(0.01)


@asynccontextmanager
async def contended(world: LiveSystem, revert: Callable[[LiveSystem], Awaitable[bool]]) -> AsyncIterator[Opponent]:
    opponent = Opponent(world, revert)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opponent.contend)
        yield opponent
        tasks.cancel_scope.cancel()


def contentions(service: CompilerService) -> dict[str, str]:
    """The objects that back off after a contention, with their messages."""
    entries = service.status()["quarantine"]
    return {entry["name"]: entry["message"] for entry in entries if entry["state"] == "contended"}


@pytest.mark.parametrize(
    ("revert", "name", "field"),
    [
        (empty_list, LIST, "access_control_list_entries"),
        (drop_targets, INSTANCE, "route_target_refs"),
        (delete_list, LIST, "the object itself"),
    ],
)
async def test_a_contention_is_reported_with_its_field_the_others_converge_and_it_recovers(
    faulty: FaultySystem, revert: Callable[[LiveSystem], Awaitable[bool]], name: tuple[str, ...], field: str
) -> None:
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        async with contended(faulty, revert) as opponent:
            await until(lambda: bool(contentions(service)))
            ((contended_name, message),) = contentions(service).items()
            assert contended_name == ":".join(name)
            assert field in message
            assert service.status()["counters"]["contentions"] >= 1
            assert service.status()["healthy"] is False
            reverts, begun = opponent.reverts, anyio.current_time()
            assert reverts <= 2 * backoff.CONTENTION_REVERTS

            await many_groups(faulty, SCALE.groups)
            await until_true(lambda: all_listed(faulty))
            # It retries a handful of times with back-off, and does not revert every few milliseconds.
            took = anyio.current_time() - begun
            assert opponent.reverts - reverts <= 5 + math.log2(1 + took), "the pauses between them double"
        await until_true(lambda: is_right(faulty), within=PATIENCE if not FULL else 4_000.0)
        await faulty.settle(service)
        assert contentions(service) == {}
        assert service.status()["healthy"] is True
    await faulty.check()


async def all_listed(world: LiveSystem) -> bool:
    return await lists_of_many(world) == 2 * SCALE.groups


async def is_right(world: LiveSystem) -> bool:
    try:
        await world.assert_compiled()
    except AssertionError:
        return False
    return True


async def test_an_intent_that_often_replaces_sixty_objects_causes_no_contention(faulty: FaultySystem) -> None:
    async with faulty.compiling() as service:
        await tenant(faulty)
        uuid = await network(faulty, "large", route_target_list=targets(*(f"target:60:{n}" for n in range(60))))
        await faulty.settle(service)
        for turn in range(2 * backoff.CONTENTION_REVERTS):
            some = targets(*(f"target:60:{number}" for number in range(60) if number % (turn + 2)))
            await faulty.update("virtual_network", uuid, route_target_list=some)
            await faulty.settle(service)
        assert service.status()["counters"]["writes"] >= 200
        assert service.status()["counters"]["contentions"] == 0
        assert service.status()["counters"]["drift_repairs"] == 0
        assert contentions(service) == {}
    await faulty.check()


async def test_users_who_change_a_group_faster_than_it_is_written_cause_no_contention(faulty: FaultySystem) -> None:
    """What is wanted changes while the former wish is on its way through a slow server: our own write that comes late
    is not taken for somebody else's."""
    async with faulty.compiling() as service:
        made = await tenant(faulty)
        await faulty.settle(service)
        faulty.faults.rule = lambda request: Slow(0.02) if request.mutates else None
        for turn in range(10 * backoff.CONTENTION_REVERTS):
            ring = rule(f"bdf042c0-0000-4000-8000-0000000000{turn:02}", group("group-1"), LOCAL)
            await faulty.update("security_group", made["security_group"][0], **rules(ring))
            some = targets(*(f"target:61:{number}" for number in range(turn % 7)))
            await faulty.update("virtual_network", made["virtual_network"][0], route_target_list=some)
        await faulty.settle(service)
        counters = service.status()["counters"]
        assert (counters["drift_repairs"], counters["contentions"]) == (0, 0)
        faulty.faults.rule = no_fault
    await faulty.check()
