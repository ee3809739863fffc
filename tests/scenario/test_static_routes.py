"""Static routes of networks as route tables change (docs/contrail.md D.9, ★20)."""

from __future__ import annotations

import pytest

from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio

TABLE = [{"to": fq_name("blue:rt")}]


def route(prefix: str, hop: str, *communities: str) -> Document:
    attributes = {"community_attribute": list(communities)}
    return {"prefix": prefix, "next_hop": hop, "next_hop_type": "ip-address", "community_attributes": attributes}


FIRST = route("1.1.1.1/0", "10.10.10.10", "1:1")
SECOND = route("2.2.2.2/0", "20.20.20.20")


async def change(system: ContrailSystem, *routes: Document) -> None:
    await system.change("route_table", "blue:rt", routes={"route": list(routes)})


async def entries(system: ContrailSystem, network: str) -> list[tuple[str, str, list[str]]]:
    """(prefix, next hop, communities) of the network's primary instance."""
    instance = (await system.stored("routing_instance"))[f"default-domain:blue:{network}:{network}"]
    routes = (instance.get("static_route_entries") or {}).get("route") or []
    return [(entry["prefix"], entry["next_hop"], entry.get("community") or []) for entry in routes]


@pytest.fixture
async def system(system: ContrailSystem) -> ContrailSystem:
    await system.create("route_table", "blue:rt", routes={"route": [FIRST]})
    await system.create("virtual_network", "blue:vn1", route_table_refs=TABLE)
    await system.create("virtual_network", "blue:vn2")
    return system


@pytest.mark.also_live
async def test_entries_follow_tables_routes_and_communities(system: ContrailSystem) -> None:
    """docs/contrail.md ★20"""
    assert await entries(system, "vn1") == [("1.1.1.1/0", "10.10.10.10", ["1:1"])]
    await change(system, route("1.1.1.1/0", "10.10.10.10", "1:1", "1:2"))
    assert await entries(system, "vn1") == [("1.1.1.1/0", "10.10.10.10", ["1:1", "1:2"])]
    await change(system, FIRST, SECOND)
    await system.change("virtual_network", "blue:vn2", route_table_refs=TABLE)
    both = [("1.1.1.1/0", "10.10.10.10", ["1:1"]), ("2.2.2.2/0", "20.20.20.20", [])]
    assert (await entries(system, "vn1"), await entries(system, "vn2")) == (both, both)
    await change(system, FIRST)
    await system.change("virtual_network", "blue:vn2", route_table_refs=[])
    assert (await entries(system, "vn1"), await entries(system, "vn2")) == (both[:1], [])
    await system.change("route_table", "blue:rt", routes=None)
    assert await entries(system, "vn1") == []
    await system.check()


async def test_a_restart_writes_nothing_and_removes_what_went_meanwhile(system: ContrailSystem) -> None:
    system = await system.restart()
    assert system.write.written == []
    system.stop()
    await system.change("virtual_network", "blue:vn1", route_table_refs=[])
    system = await system.restart()
    assert await entries(system, "vn1") == []


async def test_what_users_write_on_an_instance_is_replaced(system: ContrailSystem) -> None:
    mine = {"route": [{"prefix": "3.3.3.0/24", "next_hop": "10.0.0.3"}]}
    await system.change("routing_instance", "blue:vn1:vn1", static_route_entries=mine)
    assert await entries(system, "vn1") == [("1.1.1.1/0", "10.10.10.10", ["1:1"])]
    await system.change("routing_instance", "blue:vn2:vn2", static_route_entries=mine)
    assert await entries(system, "vn2") == []
