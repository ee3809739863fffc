"""Service chains through transparent services over the whole engine in memory: addresses and VLANs that the chain has
while it stands, and ports that lead to it (docs/contrail.md D.8.4, D.8.5).
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from intentc.apiserver.references import ReferenceUpdate
from intentc.model import Key
from intentc.offline.audit import audit
from tests.oracle.contrail_transparent import steering_of
from tests.scenario.contrail_services import create_port_tuple
from tests.support.contrail_policies import attached, policy, rule
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

Document = dict[str, Any]


class Clear:
    """Networks vn1 and vn2 of ``blue`` that attach the policy ``p``, and transparent services between them."""

    def __init__(self, system: ContrailSystem) -> None:
        self.system = system

    async def service(self, name: str, *tuples: str) -> None:
        references = [{"to": fq_name("clear")}]
        await self.system.create("service_instance", f"blue:{name}", service_template_refs=references)
        for place in tuples:
            await create_port_tuple(self.system, name, place)

    async def remove_port_tuple(self, service: str, name: str) -> None:
        for side in ("left", "right"):
            await self.system.remove("virtual_machine_interface", f"blue:{service}-{name}-{side}")
        await self.system.remove("port_tuple", f"blue:{service}:{name}")

    async def rules(self, *services: tuple[str, ...]) -> None:
        """A rule of ``p`` for each list of services, with ports of its own."""
        found = [
            rule(
                "vn1",
                "vn2",
                action_list={"apply_service": [f"default-domain:blue:{name}" for name in names]},
                dst_ports=[{"start_port": place, "end_port": place}],
            )
            for place, names in enumerate(services, 1)
        ]
        await self.system.change("network_policy", "blue:p", network_policy_entries=policy(*found))

    async def attach(self, name: str, *policies: str) -> None:
        await self.system.change("virtual_network", f"blue:{name}", network_policy_refs=attached(*policies))

    async def vlans(self) -> dict[str, list[int]]:
        """Port → the VLANs of the chains that it knows, sorted."""
        return {
            name.rpartition(":")[2]: sorted(attribute["vlan_tag"] for attribute in found.values())
            for name, port in (await self.system.stored("virtual_machine_interface")).items()
            if (found := steering_of(port))
        }

    async def addresses(self) -> dict[str, str]:
        """``service-family`` → address, of all chains."""
        return {
            name.rpartition("_")[2]: address["instance_ip_address"]
            for name, address in (await self.system.stored("instance_ip")).items()
        }

    async def check(self) -> None:
        """The oracle agrees, and a restart writes nothing."""
        await self.system.check()
        assert (await self.system.restart()).write.written == []


@pytest.fixture
async def clear(system: ContrailSystem) -> Clear:
    found = Clear(system)
    properties = {"version": 2, "service_mode": "transparent"}
    await system.create("service_template", "clear", service_template_properties=properties)
    await system.create("network_policy", "blue:p")
    for name in ("vn1", "vn2"):
        await system.create("virtual_network", f"blue:{name}", network_policy_refs=attached("p"))
    return found


async def test_addresses_and_vlans_last_as_long_as_the_chain(clear: Clear) -> None:
    """multi_service_policy (docs/contrail.md E.3)"""
    for name in ("s1", "s2", "s3"):
        await clear.service(name, "t1")
    before, numbers = sorted(await clear.system.owned()), await clear.system.numbers()
    await clear.rules(("s1", "s2", "s3"))
    assert await clear.addresses() == {
        "s1-v4": "0.255.255.252",
        "s2-v4": "0.255.255.251",
        "s3-v4": "0.255.255.250",
        "s1-v6": "::ff:fffc",
        "s2-v6": "::ff:fffb",
        "s3-v6": "::ff:fffa",
    }
    assert await clear.vlans() == {f"s{n}-t1-{side}": [1] for n in (1, 2, 3) for side in ("left", "right")}
    await clear.check()
    await clear.rules(("s1", "s2"))
    assert set(await clear.addresses()) == {f"s{n}-{family}" for n in (1, 2) for family in ("v4", "v6")}
    await clear.check()
    await clear.attach("vn2")
    assert await clear.addresses() == {} and await clear.vlans() == {}
    await clear.attach("vn2", "p")
    assert len(await clear.addresses()) == 4
    await clear.rules()
    assert await clear.addresses() == {} and await clear.vlans() == {}
    assert (sorted(await clear.system.owned()), await clear.system.numbers()) == (before, numbers)
    await clear.check()


async def test_a_host_knows_each_chain_by_a_vlan_of_its_own_that_stays(clear: Clear) -> None:
    await clear.service("s1", "t1")
    await clear.rules(("s1",), ("s1",))
    assert await clear.vlans() == {"s1-t1-left": [1, 2], "s1-t1-right": [1, 2]}
    (first,) = [chain async for chain in _chains(clear, 1)]
    await clear.rules(("s1",), ("s1",), ("s1",))
    assert await clear.vlans() == {"s1-t1-left": [1, 2, 3], "s1-t1-right": [1, 2, 3]}
    assert [chain async for chain in _chains(clear, 1)] == [first]
    await clear.check()


@pytest.mark.also_live
async def test_a_host_that_joins_gets_a_vlan_and_one_that_leaves_gives_it_back(clear: Clear) -> None:
    await clear.service("s1", "t1")
    await clear.rules(("s1",))
    await create_port_tuple(clear.system, "s1", "t2")
    assert set(await clear.vlans()) == {f"s1-{name}-{side}" for name in ("t1", "t2") for side in ("left", "right")}
    await clear.check()
    await clear.system.change("virtual_machine_interface", "blue:s1-t1-left", port_tuple_refs=[])
    assert set(await clear.vlans()) == {"s1-t2-left", "s1-t2-right"}
    await clear.check()
    await clear.remove_port_tuple("s1", "t2")
    assert await clear.vlans() == {} and await clear.addresses() == {}
    await clear.check()


@pytest.mark.parametrize("order", list(permutations(("rules", "service", "attach"))), ids="-".join)
async def test_a_chain_is_the_same_in_any_order_of_arrival(clear: Clear, order: tuple[str, ...]) -> None:
    for name in ("vn1", "vn2"):
        await clear.attach(name)
    for step in order:
        match step:
            case "rules":
                await clear.rules(("s1",))
            case "attach":
                for name in ("vn1", "vn2"):
                    await clear.attach(name, "p")
            case "service":
                await clear.service("s1", "t1")
    assert await clear.vlans() == {"s1-t1-left": [1], "s1-t1-right": [1]}
    await clear.check()


@pytest.mark.also_live
async def test_a_chain_survives_a_restart_and_what_ended_meanwhile_is_deleted(clear: Clear) -> None:
    await clear.service("s1", "t1")
    await clear.rules(("s1",))
    addresses = await clear.addresses()
    again = Clear(await clear.system.restart())
    assert again.system.write.written == [] and await again.addresses() == addresses
    again.system.stop()
    await again.rules()
    again = Clear(await again.system.restart())
    assert await again.addresses() == {} and await again.vlans() == {}
    await again.check()


async def test_an_audit_misses_an_address_and_nothing_else(clear: Clear) -> None:
    """docs/contrail.md D.8.4"""
    await clear.service("s1", "t1")
    await clear.rules(("s1",), ("s1",))
    offline = clear.system.offline

    async def differing() -> set[str]:
        found = await audit(clear.system.loaded, offline.store, offline.local, path="contrail", installation="default")
        return {difference.kind for difference in found.differences}

    assert len(await clear.addresses()) == 2 and await differing() == set()
    clear.system.stop()
    for name, address in (await clear.system.stored("instance_ip")).items():
        if name.endswith("-v4"):
            await offline.server.delete(Key("instance_ip", address["uuid"]))
    # The other family serves meanwhile, so instances and ports differ as well.
    assert await differing() == {"instance_ip", "routing_instance", "virtual_machine_interface"}
    await clear.system.restart()
    assert await differing() == set()


async def test_what_others_delete_is_made_again(clear: Clear) -> None:
    await clear.service("s1", "t1")
    await clear.rules(("s1",))
    for name, address in (await clear.system.stored("instance_ip")).items():
        if name.endswith("-v4"):
            await clear.system.offline.server.delete(Key("instance_ip", address["uuid"]))
    await clear.system.settle()
    assert (await clear.addresses())["s1-v4"] == "0.255.255.252"
    port = await clear.system.offline.server.identify("virtual_machine_interface", fq_name("blue:s1-t1-left"))
    (instance,) = [
        entry["uuid"]
        for entry in (await clear.system.world())["virtual_machine_interface"][port]["routing_instance_refs"]
        if entry["to"][-1].startswith("service-")
    ]
    update = ReferenceUpdate(Key("virtual_machine_interface", port), "routing_instance", False, instance)
    await clear.system.offline.server.update_reference(update)
    await clear.system.settle()
    assert await clear.vlans() == {"s1-t1-left": [1], "s1-t1-right": [1]}
    await clear.check()


async def test_deleting_a_port_deletes_its_chain_and_frees_its_network(clear: Clear) -> None:
    """misc (docs/contrail.md E.3)"""
    await clear.service("s1", "t1")
    await clear.rules(("s1",))
    await clear.remove_port_tuple("s1", "t1")
    assert await clear.addresses() == {}
    await clear.system.remove("service_instance", "blue:s1")
    for name in ("vn1", "vn2"):
        await clear.system.remove("virtual_network", f"blue:{name}")
    await clear.check()


async def _chains(clear: Clear, tag: int) -> Any:
    """The names of the instances to which a left port refers with a VLAN."""
    for name, port in (await clear.system.stored("virtual_machine_interface")).items():
        if name.endswith("left"):
            for instance, attribute in steering_of(port).items():
                if attribute["vlan_tag"] == tag:
                    yield instance
