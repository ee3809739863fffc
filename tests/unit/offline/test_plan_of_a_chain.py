"""A plan shows no address and no VLAN that only the real servers can give: those of a service chain through a
transparent service."""

from __future__ import annotations

import json

import pytest

from intentc.offline.preview import Plan
from tests.support.golden.cases import cases
from tests.unit.offline.planned_system import PlannedSystem, changes_of, texts

pytestmark = pytest.mark.anyio

EMPTY = "network_policy\n  data:\n    fq_name: [default-domain, blue, p]\n"


async def planned(name: str) -> Plan:
    """The plan for the policy of a golden case, when everything else is there."""
    (case,) = (case for case in cases("contrail") if case.name == f"contrail/chains/{name}")
    content = case.given.read_text()
    (policy,) = (part for part in content.split("- kind: ") if part.startswith("network_policy"))
    system = PlannedSystem("contrail")
    await system.offline.seed()
    await system.apply(texts(content.replace(policy, EMPTY)))
    return await system.plan(texts(f"resources:\n- kind: {policy}"))


async def test_one_host_is_named_with_its_pool() -> None:
    plan = await planned("transparent-one-way")
    (chain,) = {number.owner for number in plan.allocations if number.pool.startswith("service_chain_vlan:")}
    assert chain.startswith("service_chain/")
    text = f"<service_chain_vlan:default-domain:blue:s1:t1 for {chain}>"
    assert text in {number.shown for number in plan.allocations}
    changes = changes_of(plan)
    for side in ("left", "right"):
        ((_, after),) = changes["virtual_machine_interface", f"default-domain:blue:s1-t1-{side}"][1].values()
        assert after["vlan_tag"] == text
        assert after["service_chain_address"] == after["ipv6_service_chain_address"] == "<address>"


async def test_several_hosts_have_one_placeholder() -> None:
    plan = await planned("transparent-hosts")
    pools = sorted(number.pool for number in plan.allocations if number.shown == "<service_chain_vlan>")
    assert pools == [
        f"service_chain_vlan:{host}" for host in ("default-domain:blue:s1:t1", "default-domain:blue:s1:t2", "m1")
    ]
    everything = json.dumps(plan.document())
    assert '"0.255.' not in everything and "::ff:" not in everything
