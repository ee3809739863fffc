"""One object as it is and as it should be: what differs, and that secrets don't show."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.diagnostics.json_answers import MOST_BYTES
from intentc.diagnostics.questions import Comparison, Unanswerable
from intentc.inspection import Reader
from intentc.model import Batch, Change
from tests.support.contrail_system import ContrailSystem, rule, rules

pytestmark = pytest.mark.anyio

INGRESS = ("access_control_list", "blue:web:ingress-access-control-list")


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("all", "local")))
    return system


async def compared(system: ContrailSystem, kind: str, name: str) -> dict[str, Any]:
    return await Reader(system.offline.engine).ask(Comparison(kind, name))


async def spoil(system: ContrailSystem, kind: str, name: str, **fields: Any) -> None:
    """Another writer changes an object, and the engine has seen it and done nothing yet."""
    key = system.named(kind, name)
    assert key is not None
    stored = (await system.stored(kind))[f"default-domain:{name}"]
    value = msgspec.json.encode({**stored, **fields})
    engine = system.offline.engine
    revision = engine.revision + 1
    await engine.apply_item(Batch(revision, (Change(*key, value, 1, revision),)))


async def test_an_object_in_order_differs_in_nothing(system: ContrailSystem) -> None:
    found = await compared(system, *INGRESS)
    assert (found["differences"], found["differences_total"]) == ([], 0)
    assert found["actual"]["access_control_list_entries"] == found["desired"]["access_control_list_entries"]


async def test_what_somebody_else_changed_is_reported_field_by_field(system: ContrailSystem) -> None:
    await spoil(system, *INGRESS, access_control_list_entries={"acl_rule": []})
    found = await compared(system, *INGRESS)
    (difference,) = found["differences"]
    assert difference["field"] == "access_control_list_entries.acl_rule[0]"
    assert difference["actual"] is None
    assert difference["desired"]["action_list"] == {"simple_action": "pass"}


async def test_a_value_that_cannot_be_read_is_not_compared_and_says_why(system: ContrailSystem) -> None:
    await spoil(system, *INGRESS, access_control_list_entries="no object")
    found = await compared(system, *INGRESS)
    assert (found["actual"], found["differences"]) == (None, [])
    assert "access_control_list_entries" in found["unreadable"]
    assert found["desired"] is not None


async def test_a_list_that_nobody_needs_should_not_be_there(system: ContrailSystem) -> None:
    await system.create("virtual_network", "blue:net")
    system.offline.engine.withhold("test", "a test")
    await system.create("access_control_list", "blue:net:net", parent_type="virtual-network")
    found = await compared(system, "access_control_list", "blue:net:net")
    assert found["desired"] is None
    assert found["differences_total"] > 0


async def test_a_resource_of_the_user_is_as_he_wrote_it(system: ContrailSystem) -> None:
    found = await compared(system, "security_group", "web")
    assert found["actual"]["security_group_entries"]["policy_rule"]
    assert (found["desired"], found["differences"]) == (None, [])


async def test_references_that_compilers_write_are_compared_by_name(system: ContrailSystem) -> None:
    await system.create("virtual_network", "blue:net", route_target_list={"route_target": ["target:1:1"]})
    found = await compared(system, "routing_instance", "blue:net:net")
    assert found["differences"] == []
    assert ["target:1:1"] in [entry["to"] for entry in found["desired"]["route_target_refs"]]
    await spoil(system, "routing_instance", "blue:net:net", route_target_refs=[])
    found = await compared(system, "routing_instance", "blue:net:net")
    assert ("route_target_refs[target:1:1]", None) in [(each["field"], each["actual"]) for each in found["differences"]]


async def test_a_link_between_two_objects_that_we_made_is_ours_to_remove(system: ContrailSystem) -> None:
    ipam = ["default-domain", "default-project", "default-network-ipam"]
    subnets = [{"subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 24}}]
    await system.create(
        "virtual_network", "blue:net", network_ipam_refs=[{"to": ipam, "attr": {"ipam_subnets": subnets}}]
    )
    network: dict[str, Any] = {"virtual_network_refs": [{"to": ["default-domain", "blue", "net"]}]}
    for port in ("p", "q"):
        await system.create("virtual_machine_interface", f"blue:{port}", parent_type="project", **network)
        reference = {"virtual_machine_interface_refs": [{"to": ["default-domain", "blue", port]}]}
        await system.offline.server.create("instance_ip", {"fq_name": [port], **network, **reference})
    ports = [{"to": ["default-domain", "blue", port]} for port in ("p", "q")]
    await system.create("bgp_as_a_service", "blue:b", autonomous_system=64600, virtual_machine_interface_refs=ports)
    routers = await system.stored("bgp_router")
    names = [f"default-domain:blue:net:net:{name}" for name in ("p", "q", "bgpaas-server")]
    (server,) = routers[names[0]]["bgp_router_refs"]
    assert ":".join(server["to"]) == names[2]
    # A tenant's link between the two clients, of another attribute than the compiler's.
    other = {"uuid": routers[names[1]]["uuid"], "to": names[1].split(":"), "attr": {"session": []}}
    await spoil(system, "bgp_router", "blue:net:net:p", bgp_router_refs=[server, other])
    found = await compared(system, "bgp_router", "blue:net:net:p")
    assert [each["field"] for each in found["differences"]] == [f"bgp_router_refs[{names[1]}]"]


async def test_an_absent_unclaimed_object_is_rejected_with_similar_names(system: ContrailSystem) -> None:
    with pytest.raises(Unanswerable, match=r"there is no access_control_list .*no-such-list") as error:
        await compared(system, "access_control_list", "blue:web:no-such-list")
    assert error.value.status == 404
    assert f"default-domain:{INGRESS[1]}" in error.value.candidates


async def test_one_that_can_not_be_read_shows_what_is_wanted(system: ContrailSystem) -> None:
    key = system.named(*INGRESS)
    assert key is not None
    await system.put(key, b"{")
    found = await compared(system, *INGRESS)
    assert found["actual"] is None
    assert found["desired"]["access_control_list_entries"]


async def test_an_unknown_kind_is_rejected(system: ContrailSystem) -> None:
    with pytest.raises(Unanswerable, match="unknown kind"):
        await compared(system, "accss_control_list", "x")


async def test_an_object_of_a_thousand_rules_is_cut_to_what_an_answer_may_hold(system: ContrailSystem) -> None:
    many = [rule("all", "local", dst_ports=[{"start_port": port, "end_port": port}]) for port in range(2000)]
    await system.change("security_group", "blue:web", security_group_entries=rules(*many))
    assert len(msgspec.json.encode(await compared(system, *INGRESS))) <= MOST_BYTES


async def test_sensitive_fields_never_show(system: ContrailSystem) -> None:
    credentials = {"username": "a-canary", "password": "another-canary"}
    router = {"fq_name": ["default-global-system-config", "router"], "physical_router_user_credentials": credentials}
    await system.offline.apply([{"kind": "physical_router", "operation": "CREATE", "data": router}])
    found = await compared(system, "physical_router", "router")
    assert found["actual"]["physical_router_user_credentials"] == "<secret>"
    assert "canary" not in str(found)
