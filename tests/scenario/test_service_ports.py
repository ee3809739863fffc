"""What ports of port tuples get from their service comes and goes with its reasons (docs/contrail.md D.8.9)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import permutations
from typing import Any

import pytest

from intentc.apiserver.errors import Conflict
from intentc.model import Key
from tests.scenario.contrail_services import create_network, create_service, create_template
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

Make = Callable[[ContrailSystem], Coroutine[Any, Any, Any]]
PAIR = {"ip": {"ip_prefix": "10.0.0.99", "ip_prefix_len": 32}, "mac": "02:00:00:00:00:99"}
LEFT: dict[str, Any] = {"service_instance_refs": [{"to": fq_name("blue:si"), "attr": {"interface_type": "left"}}]}
RIGHT: dict[str, Any] = {"service_instance_refs": [{"to": fq_name("blue:si"), "attr": {"interface_type": "right"}}]}


async def service(system: ContrailSystem) -> None:
    await create_template(system, 2, [{"service_interface_type": side} for side in ("left", "right")])
    await create_service(system, **interface_list())


def interface_list(*pairs: dict[str, Any]) -> dict[str, Any]:
    left = {"virtual_network": "default-domain:blue:vn", "allowed_address_pairs": {"allowed_address_pair": list(pairs)}}
    return {"service_instance_properties": {"interface_list": [left, {"virtual_network": "default-domain:blue:vn"}]}}


async def network(system: ContrailSystem) -> None:
    await create_network(system, "vn", "10.0.0.0")


async def port(system: ContrailSystem, name: str = "left", side: str = "left") -> None:
    await system.create(
        "virtual_machine_interface",
        f"blue:{name}",
        parent_type="project",
        virtual_machine_interface_properties={"service_interface_type": side},
        virtual_network_refs=[{"to": fq_name("blue:vn")}],
    )


async def join(system: ContrailSystem) -> None:
    await system.create("port_tuple", "blue:si:t")
    await system.change("virtual_machine_interface", "blue:left", port_tuple_refs=[{"to": fq_name("blue:si:t")}])


async def table(system: ContrailSystem) -> None:
    await system.create("interface_route_table", "blue:irt", **LEFT)


async def check(system: ContrailSystem) -> None:
    properties = {"health_check_type": "end-to-end", "monitor_type": "PING"}
    await system.create("service_health_check", "blue:hc", service_health_check_properties=properties, **LEFT)


async def everything(system: ContrailSystem) -> None:
    for make in (network, service, port, join, table, check):
        await make(system)


async def document(system: ContrailSystem, name: str = "left") -> dict[str, Any]:
    return (await system.stored("virtual_machine_interface"))[f"default-domain:blue:{name}"]


async def referred(system: ContrailSystem) -> list[str]:
    """What the port refers to because of its service, or a user."""
    stored = await document(system)
    kinds = ("interface_route_table_refs", "service_health_check_refs")
    return [entry["to"][-1] for kind in kinds for entry in stored.get(kind) or ()]


async def addresses(system: ContrailSystem) -> list[str]:
    """The addresses that the compiler made, without the uuids in their names."""
    return sorted(name.split("-", 5)[5][:17] for name in await system.stored("instance_ip"))


ALL = ["left-v4", "left-v4-health-ch", "left-v6"]
MAKES: tuple[Make, ...] = (join, table, check)


@pytest.mark.parametrize("order", list(permutations(MAKES)), ids=lambda order: "-".join(m.__name__ for m in order))
async def test_a_port_has_the_same_in_any_order_of_arrival(system: ContrailSystem, order: tuple[Make, ...]) -> None:
    for make in (network, service, port, *order):
        await make(system)
    assert (await referred(system), await addresses(system)) == (["irt", "hc"], ALL)
    await system.check()
    assert (await system.restart()).write.written == []


async def leave(system: ContrailSystem) -> None:
    await system.change("virtual_machine_interface", "blue:left", port_tuple_refs=[])


async def other_type(system: ContrailSystem) -> None:
    properties = {"service_interface_type": "management"}
    await system.change("virtual_machine_interface", "blue:left", virtual_machine_interface_properties=properties)


async def shorter_template(system: ContrailSystem) -> None:
    await system.change("service_template", "template", service_template_properties={"version": 2})


@pytest.mark.parametrize("end", [leave, other_type, shorter_template])
@pytest.mark.parametrize("meanwhile", [False, True])
async def test_a_port_that_belongs_to_no_interface_keeps_nothing(
    system: ContrailSystem, end: Make, meanwhile: bool
) -> None:
    await everything(system)
    if meanwhile:
        system.stop()
    await end(system)
    if meanwhile:
        system = await system.restart()
    assert (await referred(system), await addresses(system)) == ([], [])
    await system.check()


async def test_tables_and_checks_follow_the_interface_that_they_name(system: ContrailSystem) -> None:
    await everything(system)
    await system.change("interface_route_table", "blue:irt", **RIGHT)
    assert await referred(system) == ["hc"]
    await system.change("interface_route_table", "blue:irt", **LEFT)
    await system.change("service_health_check", "blue:hc", service_health_check_properties={})
    assert (await referred(system), await addresses(system)) == (["irt", "hc"], ["left-v4", "left-v6"])
    await system.remove("service_health_check", "blue:hc")
    await system.remove("interface_route_table", "blue:irt")
    assert await referred(system) == []
    await system.check()


async def test_what_a_user_lets_a_port_refer_to_stays(system: ContrailSystem) -> None:
    await everything(system)
    await system.create("interface_route_table", "blue:mine")
    both = [{"to": fq_name("blue:irt")}, {"to": fq_name("blue:mine")}]
    await system.change("virtual_machine_interface", "blue:left", interface_route_table_refs=both)
    await leave(system)
    assert await referred(system) == ["irt", "mine"], "both are the user's now"


async def test_our_references_block_nobody(system: ContrailSystem) -> None:
    """A port, its network and its service are deleted as if the service had no addresses there."""
    await everything(system)
    await system.remove("virtual_machine_interface", "blue:left")
    assert await addresses(system) == []
    await port(system)
    await system.change("virtual_machine_interface", "blue:left", port_tuple_refs=[{"to": fq_name("blue:si:t")}])
    assert await addresses(system) == ALL
    await leave(system)
    await system.remove("port_tuple", "blue:si:t")
    await system.remove("service_instance", "blue:si")
    assert (await referred(system), await addresses(system)) == ([], [])
    await system.check()


async def test_ports_have_the_pairs_of_their_interface_which_the_address_follows(system: ContrailSystem) -> None:
    await everything(system)
    await system.change("service_instance", "blue:si", **interface_list(PAIR))
    pairs = (await document(system))["virtual_machine_interface_allowed_address_pairs"]["allowed_address_pair"]
    tracking = {
        name.split("-", 5)[5]: (data.get("secondary_ip_tracking_ip"), data["instance_ip_mode"])
        for name, data in (await system.stored("instance_ip")).items()
    }
    assert [pair["ip"] for pair in pairs] == [PAIR["ip"]]
    assert tracking["left-v4"] == tracking["left-v6"] == (PAIR["ip"], "active-standby")
    await system.change("service_instance", "blue:si", **interface_list())
    stored = await document(system)
    assert not (stored.get("virtual_machine_interface_allowed_address_pairs") or {}).get("allowed_address_pair")
    assert {data["instance_ip_mode"] for data in (await system.stored("instance_ip")).values()} == {"active-active"}
    await system.check()


async def test_the_address_serves_while_ports_come_and_go(system: ContrailSystem) -> None:
    await everything(system)
    server = system.offline.server
    before = {name: data["instance_ip_address"] for name, data in (await system.stored("instance_ip")).items()}
    await port(system, "other")
    await system.change("virtual_machine_interface", "blue:other", port_tuple_refs=[{"to": fq_name("blue:si:t")}])
    await server.delete(
        Key("virtual_machine_interface", await server.identify("virtual_machine_interface", fq_name("blue:left")))
    )
    await system.settle()
    after = {name: data["instance_ip_address"] for name, data in (await system.stored("instance_ip")).items()}
    assert after == before
    await system.check()


async def test_an_address_of_a_check_moves_with_the_network_of_the_port(system: ContrailSystem) -> None:
    await everything(system)
    await other_network(system)
    await system.change("virtual_machine_interface", "blue:left", virtual_network_refs=[{"to": fq_name("blue:vn2")}])
    assert (await of_check(system), system.problems) == (["20.0.0.252"], {})
    await system.check()
    assert (await system.restart()).write.written == []


async def other_network(system: ContrailSystem) -> None:
    await create_network(system, "vn2", "20.0.0.0")


async def of_check(system: ContrailSystem) -> list[str]:
    """The addresses that health checks have."""
    stored = (await system.stored("instance_ip")).values()
    return [data["instance_ip_address"] for data in stored if data.get("service_health_check_ip")]


async def test_a_subnet_stays_while_a_check_has_an_address_there(system: ContrailSystem) -> None:
    """docs/contrail.md B.8: as any address in use; the network as a whole may be deleted."""
    await everything(system)
    with pytest.raises(Conflict, match="while its addresses are in use"):
        await system.change("virtual_network", "blue:vn", network_ipam_refs=[])
    await system.remove("service_health_check", "blue:hc")
    await system.change("virtual_network", "blue:vn", network_ipam_refs=[])
    await system.check()
