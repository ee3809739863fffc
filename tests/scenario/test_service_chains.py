"""Service chains over the whole engine in memory: made, changed, taken away, in any order, over restarts
(docs/contrail.md D.8; ★S2)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from intentc.model import Key
from tests.scenario.contrail_services import SIDES, create_port_tuple
from tests.support.contrail_policies import attached, policy, rule
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

SUBNETS = {"vn1": "10.0.0.0", "vn2": "20.0.0.0", "vn3": "30.0.0.0"}


class Chains:
    """Networks of ``blue`` that attach the policy ``p``, and services between vn1 and vn2."""

    def __init__(self, system: ContrailSystem) -> None:
        self.system = system

    async def network(self, name: str, *policies: str, **fields: Any) -> None:
        subnet = {"subnet": {"ip_prefix": SUBNETS[name], "ip_prefix_len": 24}}
        ipam = ["default-domain", "default-project", "default-network-ipam"]
        fields["network_ipam_refs"] = [{"to": ipam, "attr": {"ipam_subnets": [subnet]}}]
        await self.system.create("virtual_network", f"blue:{name}", network_policy_refs=attached(*policies), **fields)

    async def networks(self, **fields: Any) -> None:
        for name in ("vn1", "vn2"):
            await self.network(name, "p", **fields)

    async def attach(self, name: str, *policies: str) -> None:
        await self.system.change("virtual_network", f"blue:{name}", network_policy_refs=attached(*policies))

    async def template(self, mode: str = "in-network") -> None:
        properties = {"version": 2, "service_mode": mode}
        await self.system.create("service_template", mode, service_template_properties=properties)

    async def service(self, name: str, mode: str = "in-network") -> None:
        references = [{"to": fq_name(mode)}]
        await self.system.create("service_instance", f"blue:{name}", service_template_refs=references)

    async def port_tuple(self, service: str, name: str = "t1", number: int = 11) -> None:
        """A port tuple with a left port in vn1 and a right one in vn2, whose addresses end in ``number``."""
        await create_port_tuple(self.system, service, name)
        for side, network in SIDES.items():
            await self.address(f"{service}-{name}-{side}", network, number)

    async def address(self, port: str, network: str, number: int, name: str = "") -> None:
        body = {
            "fq_name": [name or port],
            "instance_ip_address": f"{SUBNETS[network][:-1]}{number}",
            "service_instance_ip": True,
            "virtual_network_refs": [{"to": fq_name(f"blue:{network}")}],
            "virtual_machine_interface_refs": [{"to": fq_name(f"blue:{port}")}],
        }
        await self.system.offline.server.create("instance_ip", body)
        await self.system.settle()

    async def drop_address(self, port: str) -> None:
        server = self.system.offline.server
        await server.delete(Key("instance_ip", await server.identify("instance_ip", [port])))
        await self.system.settle()

    async def policy(self, *services: str, name: str = "p", source: str = "vn1", create: bool = False) -> None:
        rules = [rule(source, "vn2", action_list={"apply_service": [f"default-domain:blue:{s}" for s in services]})]
        change = self.system.create if create else self.system.change
        await change("network_policy", f"blue:{name}", network_policy_entries=policy(*(rules if services else ())))

    async def everything(self) -> None:
        await self.template()
        await self.service("s1")
        await self.networks()
        await self.port_tuple("s1")
        await self.policy("s1")

    async def instances(self) -> dict[str, dict[str, Any]]:
        """``network service`` → the routing instance, of each that chains made."""
        return {
            f"{name.split(':')[2]} {name[-2:]}": data
            for name, data in (await self.system.stored("routing_instance")).items()
            if name.split(":")[3].startswith("service-")
        }

    async def names(self) -> set[str]:
        """The names of the routing instances that chains made."""
        stored = await self.system.stored("routing_instance")
        return {name for name in stored if name.split(":")[3].startswith("service-")}

    async def links(self) -> set[tuple[str, str]]:
        """Linked instances, each ``network service`` or ``network``."""
        return {
            (_short(name.split(":")), _short(entry["to"]))
            for name, data in (await self.system.stored("routing_instance")).items()
            for entry in data.get("routing_instance_refs") or ()
        }

    async def check(self) -> None:
        """The oracle agrees, and a restart writes nothing."""
        await self.system.check()
        assert (await self.system.restart()).write.written == []


def _short(name: list[str]) -> str:
    return f"{name[2]} {name[3][-2:]}" if name[3].startswith("service-") else name[2]


@pytest.fixture
async def chains(system: ContrailSystem) -> Chains:
    await system.create("network_policy", "blue:p")
    return Chains(system)


@pytest.mark.also_live
async def test_a_chain_stands_while_both_networks_ask_and_leaves_nothing_behind(chains: Chains) -> None:
    await chains.template()
    await chains.service("s1")
    await chains.networks()
    await chains.port_tuple("s1")
    before, numbers = await chains.system.owned(), await chains.system.numbers()
    await chains.policy("s1")
    assert set(await chains.instances()) == {"vn1 s1", "vn2 s1"}
    assert await chains.links() == {("vn1", "vn1 s1"), ("vn1 s1", "vn1"), ("vn2", "vn2 s1"), ("vn2 s1", "vn2")}
    assert len(await chains.system.numbers()) == len(numbers) + 2
    await chains.check()
    await chains.attach("vn2")
    assert await chains.instances() == {}
    await chains.attach("vn2", "p")
    assert set(await chains.instances()) == {"vn1 s1", "vn2 s1"}
    await chains.policy()
    assert await chains.instances() == {} and await chains.links() == set()
    assert (sorted(await chains.system.owned()), await chains.system.numbers()) == (sorted(before), numbers)
    await chains.check()


@pytest.mark.parametrize("order", list(permutations(("rules", "attach", "ports"))), ids="-".join)
async def test_a_chain_is_the_same_in_any_order_of_arrival(chains: Chains, order: tuple[str, ...]) -> None:
    await chains.template()
    await chains.service("s1")
    for name in ("vn1", "vn2"):
        await chains.network(name)
    for step in order:
        match step:
            case "rules":
                await chains.policy("s1")
            case "attach":
                await chains.attach("vn1", "p")
                await chains.attach("vn2", "p")
            case "ports":
                await chains.port_tuple("s1")
    assert set(await chains.instances()) == {"vn1 s1", "vn2 s1"}
    await chains.check()


async def test_an_address_changes_in_place_and_without_it_the_chain_goes(chains: Chains) -> None:
    await chains.everything()
    names = await chains.names()
    await chains.drop_address("s1-t1-right")
    assert await chains.instances() == {}
    assert chains.system.problems.keys() == {"ServiceWithoutPorts"}
    await chains.address("s1-t1-right", "vn2", 77)
    assert await chains.names() == names
    information = (await chains.instances())["vn2 s1"]["service_chain_information"]
    assert information["service_chain_address"] == "20.0.0.77"
    await chains.check()


async def test_another_port_tuple_takes_over_and_the_last_one_deletes_the_chain(chains: Chains) -> None:
    """docs/contrail.md D.8.1, D.8.2"""
    await chains.everything()
    await chains.port_tuple("s1", "t2", 22)
    names = await chains.names()
    for name, number in (("t1", 22), ("t2", 0)):
        for side in ("left", "right"):
            port = f"s1-{name}-{side}"
            await chains.drop_address(port)
            await chains.system.remove("virtual_machine_interface", f"blue:{port}")
        await chains.system.remove("port_tuple", f"blue:s1:{name}")
        if number:
            assert await chains.names() == names
            left = (await chains.instances())["vn1 s1"]["service_chain_information"]
            assert left["service_chain_address"] == f"10.0.0.{number}"
    assert await chains.instances() == {}
    await chains.check()


async def test_a_service_dropped_from_a_rule_makes_another_chain(chains: Chains) -> None:
    """multi_service_policy (docs/contrail.md E.3)"""
    await chains.everything()
    for name, number in (("s2", 12), ("s3", 13)):
        await chains.service(name)
        await chains.port_tuple(name, number=number)
    await chains.policy("s1", "s2", "s3")
    before = await chains.names()
    assert set(await chains.instances()) == {f"{vn} {s}" for vn in ("vn1", "vn2") for s in ("s1", "s2", "s3")}
    assert {("vn2 s1", "vn1 s2"), ("vn2 s2", "vn1 s3"), ("vn2 s3", "vn2")} <= await chains.links()
    await chains.policy("s1", "s2")
    assert len(await chains.names()) == 4
    assert not before & await chains.names()
    await chains.attach("vn2")
    assert await chains.instances() == {}
    await chains.check()


@pytest.mark.also_live
async def test_a_rule_from_any_network_makes_a_chain_for_each(chains: Chains) -> None:
    """docs/contrail.md ★S2"""
    await chains.everything()
    await chains.policy("s1", name="any", source="any", create=True)
    await chains.attach("vn2", "any")
    assert len(await chains.names()) == 2
    await chains.policy("s1", name="q", source="vn3", create=True)
    await chains.network("vn3", "q")
    found = await chains.names()
    assert sorted(name.split(":")[2] for name in found) == ["vn1", "vn2", "vn2", "vn3"]
    await chains.check()
    await chains.attach("vn3")
    await chains.system.remove("virtual_network", "blue:vn3")
    assert sorted(name.split(":")[2] for name in await chains.names()) == ["vn1", "vn2"]
    await chains.check()


async def test_the_flag_for_several_policies_swaps_links_and_imports(chains: Chains) -> None:
    """multi_policy_service_chain (docs/contrail.md E.3)"""
    await chains.everything()
    names = await chains.names()
    own = next(iter(await chains.system.targets("routing_instance", "blue:vn1:vn1")))
    left = next(name for name in names if ":vn1:" in name).removeprefix("default-domain:")
    for name in ("vn1", "vn2"):
        await chains.system.change("virtual_network", f"blue:{name}", multi_policy_service_chains_enabled=True)
    assert await chains.links() == {("vn1", "vn2"), ("vn2", "vn1")}
    assert (await chains.system.targets("routing_instance", left))[own] == "import"
    await chains.check()
    await chains.system.change("virtual_network", "blue:vn1", multi_policy_service_chains_enabled=False)
    assert ("vn1", "vn1 s1") in await chains.links()
    assert own not in await chains.system.targets("routing_instance", left)
    assert await chains.names() == names
    await chains.check()


async def test_transit_exports_the_networks_own_target(chains: Chains) -> None:
    """transit_vn (docs/contrail.md E.3)"""
    await chains.everything()
    own = next(iter(await chains.system.targets("routing_instance", "blue:vn1:vn1")))
    left = next(name for name in await chains.names() if ":vn1:" in name).removeprefix("default-domain:")
    for allowed, found in ((False, None), (True, "export"), (False, None)):
        await chains.system.change("virtual_network", "blue:vn1", virtual_network_properties={"allow_transit": allowed})
        assert (await chains.system.targets("routing_instance", left)).get(own) == found
    await chains.check()


async def test_prefixes_follow_the_subnets_of_the_far_network(chains: Chains) -> None:
    await chains.everything()
    subnets = [{"subnet": {"ip_prefix": prefix, "ip_prefix_len": 24}} for prefix in ("20.0.0.0", "21.0.0.0")]
    ipam = ["default-domain", "default-project", "default-network-ipam"]
    references = [{"to": ipam, "attr": {"ipam_subnets": subnets}}]
    await chains.system.change("virtual_network", "blue:vn2", network_ipam_refs=references)
    information = (await chains.instances())["vn1 s1"]["service_chain_information"]
    assert information["prefix"] == ["20.0.0.0/24", "21.0.0.0/24"]
    await chains.check()


@pytest.mark.parametrize("kind, name", [("service_instance", "blue:s1"), ("service_template", "in-network")])
async def test_a_service_that_changes_its_mode_changes_the_chain(chains: Chains, kind: str, name: str) -> None:
    await chains.everything()
    names = await chains.names()
    if kind == "service_instance":
        await chains.template("in-network-nat")
        await chains.system.change(kind, name, service_template_refs=[{"to": fq_name("in-network-nat")}])
    else:
        properties = {"version": 2, "service_mode": "in-network-nat"}
        await chains.system.change(kind, name, service_template_properties=properties)
    assert await chains.names() == {name for name in names if ":vn1:" in name}
    assert await chains.links() == {("vn1", "vn1 s1"), ("vn1 s1", "vn1")}
    await chains.check()


@pytest.mark.also_live
async def test_a_chain_survives_a_restart_and_what_ended_meanwhile_goes(chains: Chains) -> None:
    """st_restart_service_chain, st_restart_service_chain_delete (docs/contrail.md E.3)"""
    await chains.everything()
    names = await chains.names()
    again = Chains(await chains.system.restart())
    assert again.system.write.written == []
    again.system.stop()
    assert await again.names() == names
    await again.attach("vn1")
    await again.attach("vn2")
    again = Chains(await again.system.restart())
    assert await again.instances() == {}
    await again.check()


async def test_ports_inside_a_chain_have_tables_that_follow_their_addresses(chains: Chains) -> None:
    """docs/contrail.md D.8.8"""

    async def tables() -> dict[str, list[tuple[str, str]]]:
        """Port → (address or none, instance) of each rule."""
        found: dict[str, list[tuple[str, str]]] = {}
        for name, data in (await chains.system.stored("virtual_machine_interface")).items():
            for entry in (data.get("vrf_assign_table") or {}).get("vrf_assign_rule") or ():
                address = entry["match_condition"].get("src_address", {}).get("subnet", {}).get("ip_prefix", "")
                place = (address, _short(entry["routing_instance"].split(":")))
                found.setdefault(name.rpartition(":")[2], []).append(place)
        return found

    await chains.everything()
    assert await tables() == {}
    await chains.service("s2")
    await chains.port_tuple("s2", number=12)
    await chains.policy("s1", "s2")
    inner = {
        "s1-t1-right": [("20.0.0.11", "vn2"), ("", "vn2 s1")],
        "s2-t1-left": [("10.0.0.12", "vn1"), ("", "vn1 s2")],
    }
    assert await tables() == inner
    await chains.address("s1-t1-right", "vn2", 99, name="other")
    assert (await tables())["s1-t1-right"][:2] == [("20.0.0.99", "vn2"), ("20.0.0.11", "vn2")]
    await chains.drop_address("other")
    assert await tables() == inner
    await chains.check()
    await chains.attach("vn1")
    assert await tables() == {}
    await chains.check()


async def test_networks_that_are_deleted_take_their_chains_along(chains: Chains) -> None:
    """service_policy_delete_vns_deletes_scs (docs/contrail.md E.3)"""
    await chains.everything()
    for side in ("left", "right"):
        await chains.drop_address(f"s1-t1-{side}")
        await chains.system.remove("virtual_machine_interface", f"blue:s1-t1-{side}")
    for name in ("vn1", "vn2"):
        await chains.system.remove("virtual_network", f"blue:{name}")
    assert await chains.instances() == {}
    await chains.check()


async def test_instances_of_a_former_compilers_chains_are_deleted_and_ports_leave_them(system: ContrailSystem) -> None:
    """docs/contrail.md D.8.3: what another transformer left is no part of a compile of the present inputs."""
    chains = Chains(system)
    await chains.template()
    await chains.policy("s1", create=True)
    await chains.networks()
    await chains.service("s1")
    await chains.port_tuple("s1")
    wanted = await system.stored("routing_instance")
    system.stop()
    old, name = "default-domain:blue:vn1:", "service-0b0f0000-0000-4000-8000-000000000001-default-domain_blue_s1"
    target = await system.create("route_target", "target:65000:1", fq_name=["target:65000:1"])
    await system.create(
        "routing_instance",
        f"blue:vn1:{name}",
        parent_type="virtual-network",
        route_target_refs=[{"uuid": target}],
        routing_instance_refs=[{"to": [*old.split(":")[:-1], "vn1"]}],
    )
    entry = {"to": [*old.split(":")[:-1], name], "attr": {"direction": "both"}}
    port = (await system.stored("virtual_machine_interface"))["default-domain:blue:s1-t1-left"]
    refs = [*port["routing_instance_refs"], entry]
    await system.change("virtual_machine_interface", "blue:s1-t1-left", routing_instance_refs=refs)
    assert old + name in await system.stored("routing_instance")
    again = await system.restart()
    assert (await again.stored("routing_instance")).keys() == wanted.keys()
    after = (await again.stored("virtual_machine_interface"))["default-domain:blue:s1-t1-left"]
    assert after["routing_instance_refs"] == port["routing_instance_refs"]
    assert not again.problems
    # One that comes while the compiler runs has no place either, and gets no route target.
    await again.create("routing_instance", f"blue:vn2:{name}", parent_type="virtual-network")
    assert (await again.stored("routing_instance")).keys() == wanted.keys()


async def test_instances_of_chains_that_lost_their_mark_stay_while_a_rule_asks_for_them(system: ContrailSystem) -> None:
    chains = Chains(system)
    await chains.template()
    await chains.policy("s1", create=True)
    await chains.networks()
    await chains.service("s1")
    await chains.port_tuple("s1")
    before = await system.stored("routing_instance")
    chained = [name for name in before if ":service-" in name]
    assert chained
    system.stop()
    for name in chained:
        key = Key("routing_instance", before[name]["uuid"])
        await system.put(key, {**before[name], "annotations": {}})
    again = await system.restart()
    after = await again.stored("routing_instance")
    assert after.keys() == before.keys()
    for name in chained:
        assert after[name]["route_target_refs"] == before[name]["route_target_refs"]
    await again.change("network_policy", "blue:p", network_policy_entries=policy())
    assert not [name for name in await again.stored("routing_instance") if ":service-" in name]
