"""A routing policy follows the networks that attach it (docs/contrail.md D.10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio


def attached(sequence: str) -> dict[str, Any]:
    return {"routing_policy_refs": [{"to": fq_name("blue:rp"), "attr": {"sequence": sequence}}]}


async def sequences(system: ContrailSystem) -> dict[str, str]:
    document = (await system.stored("routing_policy"))["default-domain:blue:rp"]
    return {entry["to"][-1]: entry["attr"]["sequence"] for entry in document.get("routing_instance_refs") or ()}


@pytest.mark.also_live
async def test_a_policy_is_on_the_primary_instance_while_the_network_attaches_it(system: ContrailSystem) -> None:
    """routing_policy_primary_ri_ref_present (docs/contrail.md E.3); a changed sequence is rewritten."""
    await system.create("routing_policy", "blue:rp")
    await system.create("virtual_network", "blue:vn1", **attached("1.0"))
    assert await sequences(system) == {"vn1": "1.0"}
    await system.change("virtual_network", "blue:vn1", **attached("2.0"))
    await system.create("virtual_network", "blue:vn2", **attached("7.0"))
    assert await sequences(system) == {"vn1": "2.0", "vn2": "7.0"}
    await system.check()
    assert (await system.restart()).write.written == []
    await system.remove("virtual_network", "blue:vn2")
    await system.change("virtual_network", "blue:vn1", routing_policy_refs=[])
    assert await sequences(system) == {}
    await system.check()


async def test_a_foreign_reference_is_removed_and_a_removed_one_is_restored(
    system: ContrailSystem,
) -> None:
    await system.create("routing_policy", "blue:rp")
    await system.create("virtual_network", "blue:vn1", **attached("1.0"))
    await system.create("virtual_network", "blue:vn2")
    other = {"to": fq_name("blue:vn2:vn2"), "attr": {"sequence": "3.0"}}
    await system.change("routing_policy", "blue:rp", routing_instance_refs=[other])
    assert await sequences(system) == {"vn1": "1.0"}
    await system.check()


async def test_without_a_chain_a_route_aggregate_has_no_next_hop(system: ContrailSystem) -> None:
    await system.create("route_aggregate", "blue:ra", aggregate_route_nexthop="10.0.0.1")
    document = (await system.stored("route_aggregate"))["default-domain:blue:ra"]
    assert not document.get("aggregate_route_nexthop")
