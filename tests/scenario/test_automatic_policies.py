"""Services with ``auto_policy`` make chains of their own, without a policy that networks attach
(docs/contrail.md D.8.6)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from intentc.model import Key
from tests.support.contrail_policies import attached, policy, rule
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

SIDES = {"left": "vn1", "right": "vn2"}


async def template(system: ContrailSystem) -> None:
    types = [{"service_interface_type": side} for side in SIDES]
    properties = {"version": 2, "service_mode": "transparent", "interface_type": types}
    await system.create("service_template", "clear", service_template_properties=properties)


def own(*networks: str, auto_policy: bool = True) -> dict[str, Any]:
    interfaces = [{"virtual_network": f"default-domain:blue:{name}"} for name in networks]
    return {"service_instance_properties": {"auto_policy": auto_policy, "interface_list": interfaces}}


async def service(system: ContrailSystem) -> None:
    references = [{"to": fq_name("clear")}]
    await system.create("service_instance", "blue:s1", service_template_refs=references, **own("vn1", "vn2"))
    await system.create("port_tuple", "blue:s1:t1")
    for side, network in SIDES.items():
        await system.create(
            "virtual_machine_interface",
            f"blue:{side}",
            parent_type="project",
            virtual_machine_interface_properties={"service_interface_type": side},
            virtual_network_refs=[{"to": fq_name(f"blue:{network}")}],
            port_tuple_refs=[{"to": fq_name("blue:s1:t1")}],
        )


async def networks(system: ContrailSystem) -> None:
    for name in ("vn1", "vn2", "vn3"):
        await system.create("virtual_network", f"blue:{name}")


async def chained(system: ContrailSystem) -> set[str]:
    """The networks that have an instance of a chain."""
    names = (name.split(":") for name in await system.stored("routing_instance"))
    return {name[2] for name in names if name[3].startswith("service-")}


async def listed(system: ContrailSystem) -> set[str]:
    """The networks that have a list of rules."""
    names = (name.split(":") for name in await system.stored("access_control_list"))
    return {name[2] for name in names if name[1] == "blue" and name[2].startswith("vn")}


async def check(system: ContrailSystem) -> None:
    """The oracle agrees, and a restart writes nothing."""
    await system.check()
    assert (await system.restart()).write.written == []


@pytest.mark.parametrize("order", list(permutations((template, networks))), ids=lambda order: order[0].__name__)
async def test_a_chain_stands_between_the_networks_of_the_service(system: ContrailSystem, order: Any) -> None:
    for step in (*order, service):
        await step(system)
    assert await chained(system) == await listed(system) == {"vn1", "vn2"}
    await check(system)


async def made(system: ContrailSystem) -> list[Key]:
    """What the compiler made, except the addresses that the service has as long as it has ports."""
    own = {data["uuid"] for data in (await system.stored("instance_ip")).values() if data.get("service_instance_ip")}
    return sorted(key for key in await system.owned() if key.uuid not in own)


async def test_it_is_taken_away_with_the_flag_a_network_or_the_service(system: ContrailSystem) -> None:
    await networks(system)
    await template(system)
    before, numbers = await made(system), await system.numbers()
    await service(system)
    for change, back in (
        (own("vn1", "vn2", auto_policy=False), own("vn1", "vn2")),
        (own("vn1"), own("vn1", "vn2")),
        (own("vn1", "vn1"), own("vn1", "vn2")),
        ({"service_template_refs": []}, {"service_template_refs": [{"to": fq_name("clear")}]}),
    ):
        await system.change("service_instance", "blue:s1", **change)
        assert (await made(system), await system.numbers()) == (before, numbers)
        await check(system)
        await system.change("service_instance", "blue:s1", **back)
        assert await chained(system) == {"vn1", "vn2"}
    await check(system)
    for side in SIDES:
        await system.remove("virtual_machine_interface", f"blue:{side}")
    await system.remove("port_tuple", "blue:s1:t1")
    assert await chained(system) == set() and await listed(system) == {"vn1", "vn2"}
    await check(system)
    await system.remove("service_instance", "blue:s1")
    assert (await made(system), await system.numbers()) == (before, numbers)
    await check(system)


@pytest.mark.also_live
async def test_it_moves_with_the_services_networks_and_beside_users_policies(system: ContrailSystem) -> None:
    await networks(system)
    await template(system)
    await service(system)
    await system.change("service_instance", "blue:s1", **own("vn1", "vn3"))
    assert await chained(system) == await listed(system) == {"vn1", "vn3"}
    await check(system)
    entries = policy(rule("vn1", "vn2", action_list={"simple_action": "deny"}))
    await system.create("network_policy", "blue:p", network_policy_entries=entries)
    await system.change("virtual_network", "blue:vn1", network_policy_refs=attached("p"))
    assert await chained(system) == {"vn1", "vn3"}
    await check(system)
    await system.remove("virtual_network", "blue:vn3")
    assert await chained(system) == set()
    await check(system)


async def test_a_template_that_names_its_sides_the_other_way_turns_the_chain(system: ContrailSystem) -> None:
    await networks(system)
    await template(system)
    await service(system)
    before = set(await system.stored("routing_instance"))
    types = [{"service_interface_type": side} for side in reversed(SIDES)]
    properties = {"version": 2, "service_mode": "transparent", "interface_type": types}
    await system.change("service_template", "clear", service_template_properties=properties)
    assert await chained(system) == {"vn1", "vn2"} and set(await system.stored("routing_instance")) != before
    await check(system)
