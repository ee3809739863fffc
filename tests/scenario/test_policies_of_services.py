"""Routing policies and route aggregates of a service follow the chains through it (docs/contrail.md D.10, ★S1)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.cli.input_files import apply_inputs, targets_first
from intentc.loading.resource_files import load_resources
from intentc.model import Key
from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.golden.cases import cases

pytestmark = pytest.mark.anyio

CASE = next(case for case in cases("contrail") if case.name.endswith("chains/in-network"))
SERVICE = fq_name("blue:s1")


@pytest.fixture
async def chain() -> ContrailSystem:
    """A chain between vn1 and vn2 through s1, with the addresses 10.0.0.11 and 20.0.0.11."""
    system = ContrailSystem()
    await system.offline.seed()
    schema = system.loaded.schema
    await apply_inputs(system.offline, targets_first(load_resources([str(CASE.given)], schema), schema))
    await system.settle()
    return system


async def sequences(system: ContrailSystem) -> dict[str, str]:
    """Network → sequence of the policy there."""
    document = (await system.stored("routing_policy"))["default-domain:blue:rp"]
    return {entry["to"][2]: entry["attr"]["sequence"] for entry in document.get("routing_instance_refs") or ()}


async def hop(system: ContrailSystem) -> tuple[str, list[str]]:
    """The aggregate's next hop, and the networks of its instances."""
    document = (await system.stored("route_aggregate"))["default-domain:blue:ra"]
    networks = [entry["to"][2] for entry in document.get("routing_instance_refs") or ()]
    return document.get("aggregate_route_nexthop") or "", networks


def policy(left: str, right: str) -> dict[str, Any]:
    return {"service_instance_refs": [{"to": SERVICE, "attr": {"left_sequence": left, "right_sequence": right}}]}


def aggregate(side: str, *routes: str) -> dict[str, Any]:
    references = [{"to": SERVICE, "attr": {"interface_type": side}}]
    return {"service_instance_refs": references, "aggregate_route_entries": {"route": list(routes)}}


async def detach(system: ContrailSystem) -> None:
    await system.change("virtual_network", "blue:vn2", network_policy_refs=[])


async def attach(system: ContrailSystem) -> None:
    references = [{"to": fq_name("blue:p"), "attr": {"sequence": {"major": 1, "minor": 1}}}]
    await system.change("virtual_network", "blue:vn2", network_policy_refs=references)


async def test_a_policy_is_on_both_sides_of_the_service_while_the_chain_stands(chain: ContrailSystem) -> None:
    await chain.create("routing_policy", "blue:rp", **policy("1.0", "2.0"))
    assert await sequences(chain) == {"vn1": "1.0", "vn2": "2.0"}
    await chain.check()
    assert (await chain.restart()).write.written == []
    await chain.change("routing_policy", "blue:rp", **policy("3.0", ""))
    assert await sequences(chain) == {"vn1": "3.0"}
    await detach(chain)
    assert await sequences(chain) == {}
    await attach(chain)
    assert await sequences(chain) == {"vn1": "3.0"}
    await chain.change("routing_policy", "blue:rp", service_instance_refs=[])
    assert await sequences(chain) == {}
    await chain.check()


async def test_the_next_hop_of_an_aggregate_follows_side_family_and_address(chain: ContrailSystem) -> None:
    await chain.create("route_aggregate", "blue:ra", **aggregate("left", "100.0.0.0/24"))
    assert await hop(chain) == ("10.0.0.11", ["vn1"])
    assert (await chain.restart()).write.written == []
    await chain.change("route_aggregate", "blue:ra", **aggregate("right", "100.0.0.0/24"))
    assert await hop(chain) == ("20.0.0.11", ["vn2"])
    await chain.change("route_aggregate", "blue:ra", **aggregate("right", "3000::/16", "100.0.0.0/24"))
    assert await hop(chain) == ("", [])
    await chain.change("route_aggregate", "blue:ra", **aggregate("left", "100.0.0.0/24"))
    await detach(chain)
    assert await hop(chain) == ("", [])
    await attach(chain)
    await chain.check()
    assert await hop(chain) == ("10.0.0.11", ["vn1"])
    chain.stop()
    server = chain.offline.server
    await server.delete(Key("instance_ip", await server.identify("instance_ip", ["s1-t1-left-v4"])))
    chain = await chain.restart()
    assert await hop(chain) == ("", [])
    await chain.check()
