"""The view ``leftovers``: route targets of another transformer that nobody refers to (docs/contrail.md D.1)."""

from __future__ import annotations

from uuid import NAMESPACE_OID, uuid5

import pytest

from intentc import Row
from intentc.compilers.contrail.leftovers import VIEWS
from intentc.inspection import Reader
from intentc.model import Key
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio


async def test_an_allocation_of_another_transformer_is_listed_once_it_is_unreferred() -> None:
    system = await ContrailSystem().begin()
    await system.create("virtual_network", "blue:net", route_target_list={"route_target": ["target:64512:7"]})
    assert await left(system) == []
    others = ["target:64512:8000500", "target:64512:7000000", "target:1:8000500", "target:10.0.0.1:8000500"]
    uuids = {name: await put_target(system, name) for name in others}
    assert await left(system) == [{"name": others[0], "uuid": uuids[others[0]]}]
    await system.create("logical_router", "blue:router")
    router = system.named("logical_router", "blue:router")
    assert router is not None
    stored = (await system.stored("logical_router"))["default-domain:blue:router"]
    await system.put(router, {**stored, "route_target_refs": [{"uuid": uuids[others[0]], "to": [others[0]]}]})
    assert await left(system) == []


async def put_target(system: ContrailSystem, name: str) -> str:
    """Store a route target past the server, as another transformer did."""
    uuid = str(uuid5(NAMESPACE_OID, name))
    await system.put(Key("route_target", uuid), {"uuid": uuid, "fq_name": [name]})
    return uuid


async def left(system: ContrailSystem) -> list[Row]:
    return await Reader(system.offline.engine, VIEWS).rows("leftovers", lambda row: True)
