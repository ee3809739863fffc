"""A project's quota limits what clients add to it: children, parts of them, and floating IPs (docs/contrail.md B.7)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import MARK_KEY
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

IPAM = [*PROJECT, "default-network-ipam"]
RULE = {"protocol": "any", "src_addresses": [{"security_group": "local"}], "dst_addresses": [{"security_group": "x"}]}


async def limited(api: Api, **limits: int) -> None:
    """Give the default project a quota."""
    await api.update("project", (await api.by_name("project", *PROJECT))["uuid"], quota=limits)


def subnets(*prefixes: str) -> list[dict[str, Any]]:
    found = [{"subnet": {"ip_prefix": prefix, "ip_prefix_len": 24}} for prefix in prefixes]
    return [{"to": IPAM, "attr": {"ipam_subnets": found}}]


def rules(*ports: int) -> dict[str, Any]:
    return {"policy_rule": [{**RULE, "dst_ports": [{"start_port": port, "end_port": port}]} for port in ports]}


async def test_no_more_than_the_limit_is_created_and_a_deletion_makes_room(api: Api) -> None:
    await limited(api, network_policy=2)
    first = await api.create("network_policy", "a")
    await api.create("network_policy", "b")
    words = "quota of project default-domain:default-project allows 2 network_policy, and this would make 3"
    with rejected(412, words):
        await api.create("network_policy", "c")
    await api.delete("network_policy", first["uuid"])
    await api.create("network_policy", "c")


async def test_a_request_is_judged_by_what_it_leads_to(api: Api) -> None:
    await limited(api, network_policy=1)
    old = await api.create("network_policy", "a")

    def create(name: str) -> dict[str, Any]:
        return {"kind": "network_policy", "data": {"fq_name": [*PROJECT, name]}}

    with rejected(412, "this would make 2"):
        await api.server.sync([create("b")])
    await api.server.sync(
        [create("b"), {"kind": "network_policy", "operation": "DELETE", "data": {"uuid": old["uuid"]}}]
    )
    assert (await api.by_name("network_policy", *PROJECT, "b"))["uuid"]


@pytest.mark.parametrize(
    "limits", [{}, {"network_policy": -1}, {"network_policy": -1, "defaults": 0}, {"defaults": -1}]
)
async def test_nothing_is_limited_without_a_limit(api: Api, limits: dict[str, int]) -> None:
    await limited(api, **limits)
    await api.create("network_policy", "a")


@pytest.mark.parametrize("limits", [{"network_policy": 0}, {"defaults": 0}, {"defaults": 5, "network_policy": 0}])
async def test_zero_allows_none_and_defaults_count_for_kinds_without_a_limit(api: Api, limits: dict[str, int]) -> None:
    await limited(api, **limits)
    with rejected(412, "allows 0 network_policy"):
        await api.create("network_policy", "a")


async def test_a_limit_below_what_is_there_forbids_no_change_of_it(api: Api) -> None:
    made = await api.create("security_group", "g", security_group_entries=rules(1, 2))
    await limited(api, security_group=0, security_group_rule=1)
    await api.update("security_group", made["uuid"], display_name="other")
    await api.update("security_group", made["uuid"], security_group_entries=rules(3, 4))
    with rejected(412, "allows 1 security_group_rule, and this would make 3"):
        await api.update("security_group", made["uuid"], security_group_entries=rules(3, 4, 5))


async def test_rules_of_groups_and_subnets_of_networks_are_counted_together(api: Api) -> None:
    await limited(api, security_group_rule=3, subnet=2)
    await api.create("security_group", "g", security_group_entries=rules(1, 2))
    with rejected(412, "allows 3 security_group_rule, and this would make 4"):
        await api.create("security_group", "h", security_group_entries=rules(1, 2))
    network = await api.create("virtual_network", "n", network_ipam_refs=subnets("10.0.0.0"))
    await api.create("virtual_network", "m", network_ipam_refs=subnets("10.1.0.0"))
    with rejected(412, "allows 2 subnet, and this would make 3"):
        await api.update("virtual_network", network["uuid"], network_ipam_refs=subnets("10.0.0.0", "10.2.0.0"))


async def test_floating_ips_count_in_their_project_and_pools_in_that_of_their_network(api: Api) -> None:
    await limited(api, floating_ip=1, floating_ip_pool=1)
    await api.create("virtual_network", "n", network_ipam_refs=subnets("10.0.0.0"))
    pool = {"parent_type": "virtual-network", "fq_name": [*PROJECT, "n", "pool"]}
    await api.create("floating_ip_pool", **pool)
    with rejected(412, "allows 1 floating_ip_pool"):
        await api.create("floating_ip_pool", **{**pool, "fq_name": [*PROJECT, "n", "other"]})
    address = {"parent_type": "floating-ip-pool", "project_refs": [{"to": PROJECT}]}
    await api.create("floating_ip", fq_name=[*PROJECT, "n", "pool", "a"], **address)
    with rejected(412, "allows 1 floating_ip,"):
        await api.create("floating_ip", fq_name=[*PROJECT, "n", "pool", "b"], **address)


async def test_what_compilers_make_is_not_limited(api: Api) -> None:
    await limited(api, virtual_machine_interface=0)
    await api.create("virtual_network", "n")
    mark = {"annotations": {"key_value_pair": [{"key": MARK_KEY, "value": "default/contrail/shared"}]}}
    port = {"parent_type": "project", "virtual_network_refs": [{"to": [*PROJECT, "n"]}]}
    made = await api.create("virtual_machine_interface", "made", **port, **mark)
    assert await api.get("virtual_machine_interface", made["uuid"])
    with rejected(412, "allows 0 virtual_machine_interface"):
        await api.create("virtual_machine_interface", "users", **port)


async def test_what_was_deleted_past_the_server_does_not_count(api: Api, store: MemoryStore) -> None:
    await limited(api, network_policy=1)
    made = await api.create("network_policy", "a")
    await store.transaction([], [Delete(f"/contrail/network_policy/{made['uuid']}")])
    await api.create("network_policy", "b")
