"""The machines of services of version 1 come and go with their reasons (docs/contrail.md D.8.10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tests.scenario.contrail_services import create_network, create_service, create_template
from tests.support.contrail_policies import attached, policy, rule
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

Make = Callable[[ContrailSystem], Coroutine[Any, Any, Any]]
KINDS = ("virtual_machine", "virtual_machine_interface", "instance_ip", "interface_route_table")
ROUTES = {"route": [{"prefix": "30.0.0.0/8"}]}
UUID = re.compile("-?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
START = "default-domain__blue__si"


async def template(system: ContrailSystem) -> None:
    types: list[dict[str, Any]] = [
        {"service_interface_type": "left"},
        {"service_interface_type": "right", "shared_ip": True},
    ]
    await create_template(system, 1, types)


def given(left: str = "default-domain:blue:vn1", right: str = "default-domain:blue:vn2", **fields: Any) -> Any:
    interfaces = [{"virtual_network": left, "static_routes": ROUTES}, {"virtual_network": right}]
    return {"service_instance_properties": {"interface_list": interfaces, **fields}}


async def service(system: ContrailSystem) -> None:
    await create_service(system, **given())


async def networks(system: ContrailSystem) -> None:
    await create_network(system, "vn1", "10.0.0.0")
    await create_network(system, "vn2", "20.0.0.0")


async def everything(system: ContrailSystem) -> None:
    for make in (template, networks, service):
        await make(system)


async def made(system: ContrailSystem) -> list[str]:
    """What was made for services: the last names, without the service's name and uuids."""
    found = [name.rpartition(":")[2].removeprefix(START) for kind in KINDS for name in await system.stored(kind)]
    return sorted(UUID.sub("", name) for name in found)


ONE = [" left", "-right", "__1", "__1-left", "__1__left__1", "__1__right__2"]
"""A machine, its ports, their addresses, and the table of the left one."""


ORDERS = ((template, networks, service), (template, service, networks), (networks, template, service))


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(make.__name__ for make in order))
async def test_a_service_has_a_machine_in_any_order_of_arrival(system: ContrailSystem, order: tuple[Make, ...]) -> None:
    for make in order:
        await make(system)
    assert await made(system) == ONE
    await system.check()
    assert (await system.restart()).write.written == []


async def delete(system: ContrailSystem) -> None:
    await system.remove("service_instance", "blue:si")


async def second_version(system: ContrailSystem) -> None:
    properties = {"version": 2, "interface_type": [{"service_interface_type": "left"}]}
    await system.change("service_template", "template", service_template_properties=properties)


async def no_interfaces(system: ContrailSystem) -> None:
    await system.change("service_instance", "blue:si", service_instance_properties={})


async def port_tuple(system: ContrailSystem) -> None:
    await system.create("port_tuple", "blue:si:t")


@pytest.mark.parametrize("end", [delete, second_version, no_interfaces, port_tuple])
@pytest.mark.parametrize("meanwhile", [False, True])
async def test_nothing_stays_without_its_reason(system: ContrailSystem, end: Make, meanwhile: bool) -> None:
    await everything(system)
    if meanwhile:
        system.stop()
    await end(system)
    if meanwhile:
        system = await system.restart()
    assert await made(system) == []
    await system.check()


async def test_a_service_on_a_users_machine_has_no_other(system: ContrailSystem) -> None:
    await everything(system)
    references = [{"to": fq_name("blue:si")}]
    await system.offline.server.create("virtual_machine", {"fq_name": ["mine"], "service_instance_refs": references})
    await system.settle()
    assert list(await system.stored("virtual_machine")) == ["mine"]
    await system.check()


async def test_machines_follow_the_number_of_instances(system: ContrailSystem) -> None:
    await everything(system)
    for count, mode in ((3, "active-active"), (2, "active-standby"), (1, "active-standby")):
        fields = {"ha_mode": mode} if count == 2 else {}
        await system.change("service_instance", "blue:si", **given(scale_out={"max_instances": count}, **fields))
        assert len(await system.stored("virtual_machine")) == count
        addresses = (await system.stored("instance_ip")).values()
        assert {address["instance_ip_mode"] for address in addresses} == {mode}
        assert len(addresses) == count + 1
        await system.check()
    await system.change("service_instance", "blue:si", **given(scale_out={"max_instances": 101}))
    assert await made(system) == []
    assert list(system.problems) == ["TooManyMachines"]
    await system.check()


async def test_a_network_that_goes_takes_its_ports_with_it(system: ContrailSystem) -> None:
    await everything(system)
    await system.remove("virtual_network", "blue:vn2")
    assert await made(system) == [" left", "__1", "__1-left", "__1__left__1"]
    await system.check()


async def test_services_that_name_no_network_share_their_projects(system: ContrailSystem) -> None:
    await template(system)
    before, numbers = sorted(await system.owned()), await system.numbers()
    for name in ("si", "sj"):
        references = [{"to": fq_name("template")}]
        await system.create("service_instance", f"blue:{name}", service_template_refs=references, **given("", ""))
    found = sorted(name for name in await system.stored("virtual_network") if "svc-vn" in name)
    assert found == ["default-domain:blue:svc-vn-left", "default-domain:blue:svc-vn-right"]
    assert len(await system.stored("instance_ip")) == 8
    await system.check()
    assert (await system.restart()).write.written == []
    await system.remove("service_instance", "blue:si")
    assert len(await system.stored("instance_ip")) == 4
    await system.check()
    await system.remove("service_instance", "blue:sj")
    assert (sorted(await system.owned()), await system.numbers()) == (before, numbers)
    await system.check()


async def test_a_users_network_of_that_name_serves(system: ContrailSystem) -> None:
    await create_network(system, "svc-vn-left", "10.0.0.0")
    await template(system)
    await system.create(
        "service_instance", "blue:si", service_template_refs=[{"to": fq_name("template")}], **given("", "")
    )
    stored = (await system.stored("instance_ip")).values()
    assert sorted(address["instance_ip_address"][:9] for address in stored)[0] == "10.0.0.25"
    assert len(stored) == 3
    await system.check()


async def test_a_chain_leads_through_it(system: ContrailSystem) -> None:
    await everything(system)
    leading = rule("vn1", "vn2", action_list={"apply_service": ["default-domain:blue:si"]})
    await system.create("network_policy", "blue:p", network_policy_entries=policy(leading))
    for name in ("vn1", "vn2"):
        await system.change("virtual_network", f"blue:{name}", network_policy_refs=attached("p"))
    chains = [name for name in await system.stored("routing_instance") if ":service-" in name]
    assert len(chains) == 2
    await system.check()
    await system.remove("service_instance", "blue:si")
    assert [name for name in await system.stored("routing_instance") if ":service-" in name] == []
    await system.check()


async def test_an_interface_moves_to_another_network(system: ContrailSystem) -> None:
    await everything(system)
    await create_network(system, "vn3", "30.0.0.0")
    await system.change("service_instance", "blue:si", **given("default-domain:blue:vn3"))
    left = (await system.stored("virtual_machine_interface"))[f"default-domain:blue:{START}__1__left__1"]
    assert [entry["to"][-1] for entry in left["virtual_network_refs"]] == ["vn3"]
    assert [entry["to"][-1] for entry in left["routing_instance_refs"]] == ["vn3"]
    addresses = (await system.stored("instance_ip")).values()
    assert sorted(one["instance_ip_address"].partition(".")[0] for one in addresses) == ["20", "30"]
    await system.check()
    assert (await system.restart()).write.written == []


async def test_a_table_goes_with_the_static_routes(system: ContrailSystem) -> None:
    await everything(system)
    interfaces = [{"virtual_network": f"default-domain:blue:{name}"} for name in ("vn1", "vn2")]
    await system.change("service_instance", "blue:si", service_instance_properties={"interface_list": interfaces})
    assert await made(system) == ONE[1:]
    await system.check()


async def groups(system: ContrailSystem) -> list[list[str]]:
    """The security groups of the service's ports."""
    ports = sorted((await system.stored("virtual_machine_interface")).items())
    return [[entry["to"][-1] for entry in port.get("security_group_refs") or ()] for _, port in ports]


async def test_ports_are_in_the_projects_own_group_and_in_those_that_users_add(system: ContrailSystem) -> None:
    await everything(system)
    assert await groups(system) == [[], []]
    await system.create("security_group", "blue:default")
    assert await groups(system) == [["default"], ["default"]]
    await system.create("security_group", "blue:mine")
    port = f"blue:{START}__1__left__1"
    await system.change("virtual_machine_interface", port, security_group_refs=[{"to": fq_name("blue:mine")}])
    assert [sorted(found) for found in await groups(system)] == [["default", "mine"], ["default"]]
    await system.check()
    assert (await system.restart()).write.written == []
    properties = {"version": 1, "interface_type": [{"service_interface_type": side} for side in ("left", "right")]}
    await system.change("service_template", "template", service_template_properties=properties)
    assert await groups(system) == [["mine"], []], "it is transparent now"
    await system.check()


async def test_the_projects_group_is_deleted_as_if_no_port_were_in_it(system: ContrailSystem) -> None:
    await everything(system)
    await system.create("security_group", "blue:default")
    await system.remove("security_group", "blue:default")
    assert await groups(system) == [[], []]
    assert system.problems == {}
    await system.check()


async def test_users_changes_to_a_machines_port_are_repaired(system: ContrailSystem) -> None:
    """docs/engine.md §5.1; what they let a port refer to in other fields stays."""
    await everything(system)
    await create_network(system, "vn3", "30.0.0.0")
    port = f"blue:{START}__1__right__2"
    both = [{"to": fq_name(f"blue:{name}")} for name in ("vn2", "vn3")]
    tables = [{"to": fq_name("blue:mine")}]
    await system.create("interface_route_table", "blue:mine")
    await system.change("virtual_machine_interface", port, virtual_network_refs=both, interface_route_table_refs=tables)
    stored = (await system.stored("virtual_machine_interface"))[f"default-domain:{port}"]
    assert [entry["to"][-1] for entry in stored["virtual_network_refs"]] == ["vn2"]
    assert [entry["to"][-1] for entry in stored["interface_route_table_refs"]] == ["mine"]
    await system.check()
