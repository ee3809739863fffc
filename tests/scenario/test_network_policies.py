"""Network policies over the whole engine in memory: created, changed, detached, deleted, in any order, over restarts
(docs/contrail.md D.3, D.4; ★10 to ★17)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from intentc.journal.journal import Entry
from tests.support.contrail_policies import attached, links, pairs, policy, rule
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio

FABRIC = "default-project:ip-fabric"


async def network(system: ContrailSystem, name: str, *policies: str, **fields: Any) -> None:
    await system.create("virtual_network", f"blue:{name}", network_policy_refs=attached(*policies), **fields)


async def attach(system: ContrailSystem, name: str, *policies: str) -> None:
    await system.change("virtual_network", f"blue:{name}", network_policy_refs=attached(*policies))


async def write_policy(system: ContrailSystem, name: str, *rules: dict[str, Any]) -> None:
    if f"default-domain:blue:{name}" in await system.stored("network_policy"):
        await system.change("network_policy", f"blue:{name}", network_policy_entries=policy(*rules))
    else:
        await system.create("network_policy", f"blue:{name}", network_policy_entries=policy(*rules))


@pytest.mark.also_live
async def test_two_networks_with_one_policy_are_linked_until_they_detach_it(system: ContrailSystem) -> None:
    """docs/contrail.md ★10"""
    before = await system.owned()
    few = [{"start_port": -1, "end_port": 0}]
    await write_policy(system, "p", rule("vn1", "vn2", src_ports=few, dst_ports=few))
    for name in ("vn1", "vn2"):
        await network(system, name, "p")
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    for name in ("vn1", "vn2"):
        expected = ["vn1 > vn2 pass", f"{name} > {name} pass", "vn1 > vn2 deny", "any > any pass"]
        assert await pairs(system, name) == expected
    await system.check()

    for name in ("vn1", "vn2"):
        await attach(system, name)
    assert await links(system) == {}
    assert await pairs(system, "vn1") is await pairs(system, "vn2") is None
    await system.remove("network_policy", "blue:p")
    for name in ("vn1", "vn2"):
        await system.remove("virtual_network", f"blue:{name}")
    assert sorted(await system.owned()) == sorted(before)


async def test_two_networks_are_linked_while_the_policies_of_both_pass(system: ContrailSystem) -> None:
    """docs/contrail.md ★11"""
    await write_policy(system, "p1", rule("vn1", "vn2"))
    await write_policy(system, "p2", rule("vn2", "vn1"))
    await network(system, "vn1", "p1")
    await network(system, "vn2", "p2")
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    await write_policy(system, "p1", rule("vn1", "vn2", "deny"))
    assert await links(system) == {}
    await write_policy(system, "p1", rule("vn1", "vn2"))
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    await write_policy(system, "p2", rule("vn2", "vn1", "deny"))
    assert await links(system) == {}
    await system.check()


async def test_a_network_joins_and_leaves_a_policy_that_a_rule_names(system: ContrailSystem) -> None:
    """docs/contrail.md ★12"""
    await write_policy(system, "p2")
    for name in ("p1", "p2"):
        await write_policy(system, name, rule("vn1", "policy p2"))
    await network(system, "vn1", "p1")
    await network(system, "vn2", "p2")
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    await network(system, "vn3", "p2")
    assert await links(system) == {"vn1": ["vn2", "vn3"], "vn2": ["vn1"], "vn3": ["vn1"]}
    assert "vn1 > vn3 pass" in (await pairs(system, "vn1") or [])
    await attach(system, "vn3")
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    assert "vn1 > vn3 pass" not in (await pairs(system, "vn1") or [])
    await system.remove("virtual_network", "blue:vn2")
    assert await links(system) == {}
    await system.check()


async def test_icmp_to_a_subnet_of_a_network(system: ContrailSystem) -> None:
    """docs/contrail.md ★14"""
    await network(system, "vn2")
    to = {"virtual_network": "default-domain:blue:vn2", "subnet_list": [{"ip_prefix": "10.2.1.0", "ip_prefix_len": 24}]}
    await write_policy(system, "p", rule("vn1", "vn2", protocol="icmp", dst_addresses=[to]))
    await network(system, "vn1", "p")
    expected = ["vn1 > vn2 10.2.1.0/24 pass", "vn1 > vn1 pass", "vn1 > vn2 deny", "any > any pass"]
    assert await pairs(system, "vn1") == expected
    assert await links(system) == {}


async def test_networks_linked_with_the_provider_network_deny_it(system: ContrailSystem) -> None:
    """docs/contrail.md ★15"""
    fabric = {"to": ["default-domain", "default-project", "ip-fabric"]}
    for name in ("vn1", "vn2", "vn3"):
        await network(system, name)
    users = [{"to": ["default-domain", "blue", name]} for name in ("vn2", "vn3")]
    await system.change("virtual_network", FABRIC, virtual_network_refs=users)
    denied = {
        name: [f"{name} > {name} pass", f"{name} > ip-fabric deny", "any > any pass"] for name in ("vn1", "vn2", "vn3")
    }
    assert await pairs(system, "vn1") is None
    assert [await pairs(system, name) for name in ("vn2", "vn3")] == [denied["vn2"], denied["vn3"]]
    lists = await system.stored("access_control_list")
    provider = lists["default-domain:default-project:ip-fabric:ip-fabric"]["access_control_list_entries"]["acl_rule"]
    assert [one["action_list"]["simple_action"] for one in provider] == ["pass", "deny", "pass"]

    await system.change("virtual_network", "blue:vn1", virtual_network_refs=[fabric])
    assert await pairs(system, "vn1") == denied["vn1"]
    to_fabric = {"virtual_network": "default-domain:default-project:ip-fabric"}
    await write_policy(system, "p", rule("vn1", "any", direction=">", dst_addresses=[to_fabric]))
    await attach(system, "vn1", "p")
    assert await pairs(system, "vn1") == ["vn1 > ip-fabric pass", "vn1 > vn1 pass", "any > any pass"]
    await attach(system, "vn1")
    await system.change("virtual_network", "blue:vn1", virtual_network_refs=[])
    await system.change("virtual_network", FABRIC, virtual_network_refs=[])
    assert [await pairs(system, name) for name in ("vn1", "vn2", "vn3")] == [None, None, None]
    await system.check()


@pytest.mark.also_live
async def test_lists_and_links_of_what_was_deleted_while_nobody_compiled_are_gone(system: ContrailSystem) -> None:
    """docs/contrail.md ★16"""
    await write_policy(system, "p", rule("any", "any"))
    for name in ("vn1", "vn2", "vn3"):
        await network(system, name, "p")
    assert await links(system) == {"vn1": ["vn2", "vn3"], "vn2": ["vn1", "vn3"], "vn3": ["vn1", "vn2"]}
    system.stop()
    await system.remove("virtual_network", "blue:vn3")
    again = await system.restart()
    assert await links(again) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    assert await pairs(again, "vn3") is None
    await again.check()


@pytest.mark.also_live
async def test_a_restart_after_policies_converged_writes_nothing(system: ContrailSystem) -> None:
    """docs/contrail.md ★17"""
    await write_policy(system, "p", rule("any", "any"), rule("local", "policy p", protocol="tcp"))
    timer = {"sequence": {"major": 1}, "timer": {"start_time": "08:00"}}
    for number in range(6):
        name = f"vn{number}"
        await network(system, name, "p")
    timed = [{"to": ["default-domain", "blue", "p"], "attr": timer}]
    await system.change("virtual_network", "blue:vn0", network_policy_refs=timed)
    assert len(await system.owned()) >= 12
    assert await pairs(system, "vn0") is None
    assert await pairs(system, "vn0", "dynamic") is not None
    again = await system.restart()
    assert again.write.calls == 0
    await again.remove("access_control_list", "blue:vn1:vn1")
    assert len(again.write.written) == 1
    await again.check()


async def test_a_policy_that_comes_after_its_networks_and_a_users_link(system: ContrailSystem) -> None:
    """Links between routing instances follow from policies alone."""
    for name in ("vn1", "vn2"):
        await network(system, name)
    users = [{"to": ["default-domain", "blue", "vn2", "vn2"]}]
    await system.change("routing_instance", "blue:vn1:vn1", routing_instance_refs=users)
    assert await links(system) == {}
    await write_policy(system, "p", rule("vn1", "vn2"))
    for name in ("vn2", "vn1"):
        await attach(system, name, "p")
    assert await links(system) == {"vn1": ["vn2"], "vn2": ["vn1"]}
    await system.remove("virtual_network", "blue:vn1")
    assert await links(system) == {}
    await system.check()


def evaluations(system: ContrailSystem, since: int) -> Counter[str]:
    """How often intents of each kind were evaluated after the entry number ``since`` of the journal."""
    entries = [entry for entry in list(system.parts.journal)[since:] if isinstance(entry, Entry)]
    return Counter(entry.origin.kind for entry in entries)


async def test_a_policy_of_subnets_concerns_nobody_else_when_a_network_attaches_it(system: ContrailSystem) -> None:
    """docs/contrail.md ★13"""
    await write_policy(system, "p", rule("20.2.1.2/32", "10.2.1.2/32", "deny", protocol="icmp"))
    await network(system, "vn1", "p")
    await network(system, "vn2")
    before = len(system.parts.journal)
    await attach(system, "vn2", "p")
    assert evaluations(system, before)["virtual_network"] == 1


async def test_lists_that_others_made_are_adopted_and_end_with_their_last_reason(system: ContrailSystem) -> None:
    """docs/contrail.md D.4.1: what stays doesn't depend on who made them."""
    lists = ("vn:vn", "vn:dynamic", "vn:mine", "bare:bare")
    await write_policy(system, "p", rule("vn", "vn"))
    await network(system, "bare")
    await system.transact(
        ("CREATE", "virtual_network", "blue:vn", {"network_policy_refs": attached("p")}),
        *(("CREATE", "access_control_list", f"blue:{name}", {"parent_type": "virtual-network"}) for name in lists),
    )
    assert await pairs(system, "vn") is not None
    assert await below_networks(system) == ["vn:mine", "vn:vn"]
    assert not system.problems
    await attach(system, "vn")
    assert await below_networks(system) == ["vn:mine"]
    await system.create("access_control_list", "blue:vn:vn", parent_type="virtual-network")
    assert await below_networks(system) == ["vn:mine"]


async def test_the_next_start_deletes_a_list_that_others_made_meanwhile(system: ContrailSystem) -> None:
    await network(system, "bare")
    system.stop()
    await system.create("access_control_list", "blue:bare:bare", parent_type="virtual-network")
    await system.restart()
    assert await below_networks(system) == []


async def below_networks(system: ContrailSystem) -> list[str]:
    """The lists of networks of the project, whoever made them."""
    prefix = "default-domain:blue:"
    lists = await system.stored("access_control_list")
    return sorted(name.removeprefix(prefix) for name in lists if name.startswith(prefix))
