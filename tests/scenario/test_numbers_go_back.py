"""A router's number goes back to the pool only after the route target that stands for it is gone, whoever else names it
(docs/engine.md §8)."""

from __future__ import annotations

import msgspec
import pytest

from intentc.apiserver.layout import REFERENCE, Holder, Layout
from intentc.model import Delete, Key
from intentc.watch.protocol import Put
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio


async def router_with_target(system: ContrailSystem) -> tuple[str, str]:
    """A router's uuid and the name of its own route target."""
    uuid = await system.create("logical_router", "blue:router")
    (target,) = await system.targets("logical_router", "blue:router")
    return uuid, target


def noting_frees(system: ContrailSystem, monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """For each number that goes back: the route targets of which the delete had been acknowledged by then."""
    seen: list[set[str]] = []
    free = system.offline.local.free

    async def noting(pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        seen.append({operation.name.fq_name[0] for operation in system.write.written if isinstance(operation, Delete)})
        await free(pool, owner, value, fence)

    monkeypatch.setattr(system.offline.local, "free", noting)
    return seen


async def test_a_number_is_freed_after_its_route_target_is_deleted(
    system: ContrailSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    uuid, target = await router_with_target(system)
    seen = noting_frees(system, monkeypatch)
    await system.remove("logical_router", "blue:router")
    assert seen == [{target}]
    assert uuid not in await system.numbers()
    assert target not in await system.stored("route_target")


async def test_a_routers_number_is_freed_though_a_network_names_its_former_target(
    system: ContrailSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under another autonomous system the former target is one like any other, and may be listed."""
    uuid, former = await router_with_target(system)
    config = await system.offline.server.identify("global_system_config", ["default-global-system-config"])
    await system.offline.server.update(Key("global_system_config", config), {"autonomous_system": 64513})
    await system.settle()
    await system.create("virtual_network", "blue:net", import_route_target_list={"route_target": [former]})
    (target,) = await system.targets("logical_router", "blue:router")
    assert target != former
    seen = noting_frees(system, monkeypatch)
    await system.remove("logical_router", "blue:router")
    assert len(seen) == 1 and target in seen[0]
    assert uuid not in await system.numbers()
    assert system.problems == {}
    imported = await system.targets("routing_instance", "blue:net:net")
    assert imported[former] == "import"
    assert former in await system.stored("route_target"), "the network's list names it still"


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_number_is_freed_though_a_user_keeps_another_listed_target(
    system: ContrailSystem, restarted: bool
) -> None:
    await system.create("virtual_network", "blue:net")
    network = [{"to": fq_name("blue:net")}]
    await system.create("virtual_machine_interface", "blue:port", parent_type="project", virtual_network_refs=network)
    before = await system.numbers()
    listed = {"route_target": ["target:1:2"]}
    interfaces = [{"to": fq_name("blue:port")}]
    await system.create(
        "logical_router", "blue:router", virtual_machine_interface_refs=interfaces, configured_route_target_list=listed
    )
    await system.create("logical_router", "blue:keeper", route_target_refs=[{"to": ["target:1:2"]}])
    if restarted:
        system.stop()
    await system.remove("logical_router", "blue:router")
    if restarted:
        system = await system.restart()
    assert "StillReferred" in system.problems
    assert "target:1:2" in await system.stored("route_target")
    assert await system.numbers() == before


async def test_a_number_whose_route_target_somebody_keeps_from_being_deleted_stays_taken(
    system: ContrailSystem,
) -> None:
    """By a reference that only a server of an older version took; it stands in that server's index, too."""
    uuid, target = await router_with_target(system)
    other = Key("logical_router", await system.create("logical_router", "blue:other"))
    key = await system.offline.server.identify("route_target", [target])
    (stored,) = (one for one in (await system.stored("logical_router")).values() if one["uuid"] == other.uuid)
    references = [*stored["route_target_refs"], {"to": [target], "uuid": key}]
    held = Put(Layout("contrail").hold(key, Holder(other, REFERENCE)), msgspec.json.encode(stored["fq_name"]))
    await system.offline.store.transaction((), [held])
    await system.put(other, {**stored, "route_target_refs": references})
    await system.remove("logical_router", "blue:router")
    assert uuid in await system.numbers()
    assert target in await system.stored("route_target")
    newcomer = await system.create("logical_router", "blue:newcomer")
    numbers = await system.numbers()
    assert numbers[newcomer] != numbers[uuid]
