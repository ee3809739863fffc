"""A router's number goes back to the pool only after the route target that stands for it is gone, whoever else names it
(docs/engine.md §8)."""

from __future__ import annotations

import msgspec
import pytest

from intentc.apiserver.layout import REFERENCE, Holder, Layout
from intentc.model import Delete, Key
from intentc.watch.protocol import Put
from tests.support.memory_system import MemorySystem

pytestmark = pytest.mark.anyio


async def router_with_target(scene: MemorySystem) -> tuple[str, str]:
    """A router's uuid and the name of its own route target."""
    uuid = await scene.apply("logical_router", "blue:router")
    (target,) = await scene.targets("logical_router", "blue:router")
    return uuid, target


def noting_frees(scene: MemorySystem, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """For each number that goes back: the route targets of which the delete had been acknowledged by then."""
    seen: list[set[str]] = []
    free = scene.offline.local.free

    async def noting(pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        seen.append({operation.name.fq_name[0] for operation in scene.calls.written if isinstance(operation, Delete)})
        await free(pool, owner, value, fence)

    monkeypatch.setattr(scene.offline.local, "free", noting)
    return seen


async def test_a_number_goes_back_after_its_route_target_is_deleted(
    scene: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid, target = await router_with_target(scene)
    seen = noting_frees(scene, monkeypatch)
    await scene.remove("logical_router", "blue:router")
    assert seen == [{target}]
    assert uuid not in await scene.numbers()
    assert target not in await scene.stored("route_target")


async def test_a_number_whose_former_route_target_a_network_names_goes_back_after_the_routers_own_is_deleted(
    scene: MemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under another autonomous system the former target is one like any other, and may be listed."""
    uuid, former = await router_with_target(scene)
    config = await scene.offline.server.identify("global_system_config", ["default-global-system-config"])
    await scene.offline.server.update(Key("global_system_config", config), {"autonomous_system": 64513})
    await scene.settle()
    await scene.apply("virtual_network", "blue:net", import_route_target_list={"route_target": [former]})
    (target,) = await scene.targets("logical_router", "blue:router")
    assert target != former
    seen = noting_frees(scene, monkeypatch)
    await scene.remove("logical_router", "blue:router")
    assert len(seen) == 1 and target in seen[0]
    assert uuid not in await scene.numbers()
    assert scene.problems == {}
    imported = await scene.targets("routing_instance", "blue:net:net")
    assert imported[former] == "import"
    assert former in await scene.stored("route_target"), "the network's list names it still"


async def test_a_number_whose_route_target_somebody_keeps_from_being_deleted_stays_taken(scene: MemorySystem) -> None:
    """By a reference that only a server of an older version took; it stands in that server's index, too."""
    uuid, target = await router_with_target(scene)
    other = Key("logical_router", await scene.apply("logical_router", "blue:other"))
    key = await scene.offline.server.identify("route_target", [target])
    (stored,) = (one for one in (await scene.stored("logical_router")).values() if one["uuid"] == other.uuid)
    references = [*stored["route_target_refs"], {"to": [target], "uuid": key}]
    held = Put(Layout("contrail").hold(key, Holder(other, REFERENCE)), msgspec.json.encode(stored["fq_name"]))
    await scene.offline.store.transaction((), [held])
    await scene.put(other, {**stored, "route_target_refs": references})
    await scene.remove("logical_router", "blue:router")
    assert uuid in await scene.numbers()
    assert target in await scene.stored("route_target")
    newcomer = await scene.apply("logical_router", "blue:newcomer")
    numbers = await scene.numbers()
    assert numbers[newcomer] != numbers[uuid]
