"""An owner keeps its finalizer while anything is being created for it (docs/engine.md §14.2)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from intentc.logic.coverage import coverage
from intentc.testing import FakeCluster
from tests.support.app_system import APP, LOADED
from tests.support.box_system import Failing, Gate
from tests.support.memory_system import MemorySystem
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

WEB = {"kind": "app", "data": {"fq_name": ["shop", "web"], **APP}}
_TURNS = 200
"""Of the loop: enough for the engine to do all that it can do now."""


async def stored(system: MemorySystem, kind: str) -> list[dict[str, Any]]:
    found = await system.store.range(f"/contrail/{kind}/", f"/contrail/{kind}0")
    return [msgspec.json.decode(item.value) for item in found.items]


async def test_a_creation_under_way_keeps_the_finalizer_of_an_owner_that_is_deleted_meanwhile() -> None:
    write, cluster = Failing(), FakeCluster()
    system = MemorySystem(LOADED, write=write)
    gate = write.gates["create shop"] = Gate()
    async with system.running():
        await system.offline.server.sync([WEB])
        await gate.entered.wait()
        key = await system.key("app", "shop", "web")
        await system.offline.server.delete(key)
        await until(lambda: bool(system.engine.world.cache.shown(key).is_being_deleted))  # type: ignore[union-attr]
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        assert await stored(system, "manifest") == []
        (app,) = await stored(system, "app")
        assert app["metadata"]["finalizers"] == ["example.com/app"]
        gate.opened.set()
        await system.settled()
        assert await stored(system, "app"), "what was created must be seen gone first"
        assert await stored(system, "manifest")
        while await cluster.step(system.offline):
            await system.settled()
        assert await stored(system, "manifest") == await stored(system, "app") == []
    assert cluster.objects == ()


async def test_no_map_names_the_readers_of_answers() -> None:
    system = MemorySystem(LOADED)
    cluster = FakeCluster()
    await system.offline.server.sync([WEB])
    await system.settle()
    while await cluster.step(system.offline):
        await system.settle()
    assert len(cluster.objects) == 4
    assert system.engine.evaluator.missing_reactions == {}
    assert coverage(system.engine._logic).missing == ()
