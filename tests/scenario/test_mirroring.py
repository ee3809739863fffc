"""Rules and ports mirror traffic to analyzers, which come, change and go (docs/contrail.md D.8.7; analyzer of E.3)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key
from tests.scenario.contrail_services import create_network
from tests.support.contrail_policies import attached, links, policy, rule
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

MIRROR = {"mirror_to": {"analyzer_name": "default-domain:blue:a"}}


async def begin(system: ContrailSystem) -> None:
    """Networks vn1 and vn2 whose policy mirrors to a, and vn3 with the addresses 30.0.0.0/24."""
    entries = policy(rule("vn1", "vn2", action_list=MIRROR))
    await system.create("network_policy", "blue:p", network_policy_entries=entries)
    await analyzers_network(system)
    for name in ("vn1", "vn2"):
        await system.create("virtual_network", f"blue:{name}", network_policy_refs=attached("p"))


async def analyzers_network(system: ContrailSystem) -> None:
    await create_network(system, "vn3", "30.0.0.0")


async def analyzer(system: ContrailSystem) -> None:
    await system.create("service_instance", "blue:a")
    await system.create("port_tuple", "blue:a:t")
    await system.create(
        "virtual_machine_interface",
        "blue:port",
        parent_type="project",
        virtual_machine_interface_properties={"service_interface_type": "left"},
        virtual_network_refs=[{"to": fq_name("blue:vn3")}],
        port_tuple_refs=[{"to": fq_name("blue:a:t")}],
    )


async def address(system: ContrailSystem, text: str) -> None:
    """The analyzer's only address is ``text``; none if that is empty."""
    server = system.offline.server
    for name in await system.stored("instance_ip"):
        await server.delete(Key("instance_ip", await server.identify("instance_ip", [name])))
    if text:
        body: dict[str, Any] = {"fq_name": ["a"], "instance_ip_address": text, "service_instance_ip": True}
        body["virtual_network_refs"] = [{"to": fq_name("blue:vn3")}]
        body["virtual_machine_interface_refs"] = [{"to": fq_name("blue:port")}]
        await server.create("instance_ip", body)
    await system.settle()


async def mirrored(system: ContrailSystem, network: str) -> list[str]:
    """The addresses to which the rules of a network's list mirror, empty where they have none."""
    lists = await system.stored("access_control_list")
    rules = lists[f"default-domain:blue:{network}:{network}"]["access_control_list_entries"]["acl_rule"]
    found = (entry["action_list"].get("mirror_to") or {} for entry in rules)
    return [entry.get("analyzer_ip_address", "") for entry in found if entry.get("analyzer_name")]


async def check(system: ContrailSystem) -> None:
    """The oracle agrees, and a restart writes nothing."""
    await system.check()
    assert (await system.restart()).write.written == []


@pytest.mark.parametrize("first", ["rules", "analyzer"])
async def test_an_analyzer_is_linked_and_named_with_its_address_in_any_order(
    system: ContrailSystem, first: str
) -> None:
    await begin(system)
    if first == "analyzer":
        await system.change("network_policy", "blue:p", network_policy_entries=policy())
    await analyzer(system)
    await address(system, "30.0.0.7")
    if first == "analyzer":
        await system.change(
            "network_policy", "blue:p", network_policy_entries=policy(rule("vn1", "vn2", action_list=MIRROR))
        )
    assert await mirrored(system, "vn1") == await mirrored(system, "vn2") == ["30.0.0.7"]
    assert await links(system) == {"vn1": ["vn3"], "vn2": ["vn3"], "vn3": ["vn1", "vn2"]}
    await check(system)


async def test_the_rules_follow_the_analyzers_address_and_lose_it_with_the_port(system: ContrailSystem) -> None:
    await begin(system)
    await analyzer(system)
    assert await mirrored(system, "vn1") == [""]
    assert await links(system) == {"vn1": ["vn3"], "vn2": ["vn3"], "vn3": ["vn1", "vn2"]}
    for text in ("30.0.0.7", "30.0.0.8", ""):
        await address(system, text)
        assert await mirrored(system, "vn1") == [text]
        await check(system)
    await system.remove("virtual_machine_interface", "blue:port")
    assert await links(system) == {}
    await check(system)


async def test_everything_goes_with_the_last_rule(system: ContrailSystem) -> None:
    await begin(system)
    await analyzer(system)
    await address(system, "30.0.0.7")
    await system.change("virtual_network", "blue:vn2", network_policy_refs=[])
    assert await links(system) == {"vn1": ["vn3"], "vn3": ["vn1"]}
    await system.change("virtual_network", "blue:vn1", network_policy_refs=[])
    assert await links(system) == {}
    await check(system)


@pytest.mark.also_live
async def test_a_port_that_is_mirrored_has_the_address_and_its_network_is_linked(system: ContrailSystem) -> None:
    """interface_mirror (docs/contrail.md E.3)"""

    async def tap(**mirror: str) -> None:
        properties = {"interface_mirror": {"mirror_to": mirror}, "local_preference": 200}
        await system.change("virtual_machine_interface", "blue:tap", virtual_machine_interface_properties=properties)

    async def found() -> dict[str, Any]:
        data = (await system.stored("virtual_machine_interface"))["default-domain:blue:tap"]
        assert data["virtual_machine_interface_properties"]["local_preference"] == 200
        return dict(data["virtual_machine_interface_properties"]["interface_mirror"]["mirror_to"])

    await system.create("virtual_network", "blue:vn1")
    await analyzers_network(system)
    references = [{"to": fq_name("blue:vn1")}]
    await system.create("virtual_machine_interface", "blue:tap", parent_type="project", virtual_network_refs=references)
    await tap(analyzer_name="default-domain:blue:a")
    assert await found() == {"analyzer_name": "default-domain:blue:a"}
    await analyzer(system)
    assert await links(system) == {"vn1": ["vn3"], "vn3": ["vn1"]}
    for text in ("30.0.0.7", "30.0.0.8"):
        await address(system, text)
        assert (await found())["analyzer_ip_address"] == text
        await check(system)
    await tap(analyzer_name="default-domain:blue:a", analyzer_ip_address="9.9.9.9")
    assert (await found())["analyzer_ip_address"] == "30.0.0.8"
    await address(system, "")
    assert await found() == {"analyzer_name": "default-domain:blue:a"}, "another machine may get the address"
    await check(system)
    await tap(analyzer_name="collector", analyzer_ip_address="9.9.9.9")
    assert (await found())["analyzer_ip_address"] == "9.9.9.9"
    await tap(analyzer_ip_address="9.9.9.9")
    assert await found() == {"analyzer_ip_address": "9.9.9.9"}
    assert await links(system) == {}
    await check(system)
