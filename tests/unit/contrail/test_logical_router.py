"""A router's route targets on its networks' routing instances (docs/contrail.md D.7; E.1
TestCreateLogicalRouterCreatesRouteTarget, TestCreateRefToDefaultRouteTargetInRoutingInstance; E.3 ★4 ★9 ★23)."""

from __future__ import annotations

from typing import Any

from intentc.evaluation import Status
from intentc.model import Name, object_uuid
from tests.unit.contrail.tenant import INSTALLATION, Tenant, made, reasons, references

OWN = "target:64512:8000100"


def test_it_has_a_route_target_of_its_own() -> None:
    """It waits for its number, then claims the target and refers to it (docs/contrail.md ★4)."""
    tenant = Tenant()
    router = tenant.router("lr")
    assert tenant.run(router).status is Status.WAITING
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert {name: claim.owner for (_, name), claim in made(outcome).items()} == {OWN: router.uuid}
    assert references(outcome) == {("lr", OWN, "")}


def test_its_target_goes_onto_the_routing_instance_of_its_network() -> None:
    """The network of its one interface (docs/contrail.md ★4)."""
    tenant = Tenant()
    network, _ = tenant.network("vn")
    router = tenant.router("lr", tenant.interface("i", network))
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, ""), ("vn", OWN, "")}


def test_two_networks_get_the_same_target() -> None:
    """Both routing instances refer to one object (docs/contrail.md ★9)."""
    tenant = Tenant()
    interfaces = [tenant.interface(f"i{n}", tenant.network(f"vn{n}")[0]) for n in (1, 2)]
    router = tenant.router("lr", *interfaces)
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, ""), ("vn1", OWN, ""), ("vn2", OWN, "")}


def test_two_interfaces_in_one_network_count_once() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    router = tenant.router("lr", tenant.interface("i1", network), tenant.interface("i2", network))
    tenant.number(router, 8000100)
    assert len(tenant.run(router).claims) == 3


def test_a_users_route_target_is_used_in_place_of_an_own_one() -> None:
    """docs/contrail.md ★4: no number is asked for."""
    tenant = Tenant()
    given = tenant.put("route_target", ("target:64512:3",))
    network, _ = tenant.network("vn")
    router = tenant.router("lr", tenant.interface("i", network), route_target_refs=[{"uuid": given.uuid}])
    outcome = tenant.run(router)
    assert (outcome.status, outcome.requests, made(outcome)) == (Status.DONE, (), {})
    assert references(outcome) == {("vn", "target:64512:3", "")}


def test_a_given_route_target_that_the_compiler_numbers_has_no_effect() -> None:
    """It may be, or become, that of somebody else's network. The next given one counts, or else its own."""
    tenant = Tenant()
    automatic = tenant.put("route_target", ("target:64512:8000102",))
    users = tenant.put("route_target", ("target:64513:8000102",))
    network, _ = tenant.network("vn")
    interface = tenant.interface("i", network)
    router = tenant.router("lr", interface, route_target_refs=[{"uuid": automatic.uuid}])
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert references(outcome) == {("lr", OWN, ""), ("vn", OWN, "")}
    assert reasons(outcome) == ["AutomaticRouteTarget"]
    assert "route_target_refs: target:64512:8000102" in outcome.problems[0].message
    tenant.router("lr", interface, route_target_refs=[{"uuid": automatic.uuid}, {"uuid": users.uuid}])
    assert references(tenant.run(router)) == {("vn", "target:64513:8000102", "")}


def test_of_several_given_ones_the_first_by_name_counts() -> None:
    tenant = Tenant()
    given = [tenant.put("route_target", (f"target:1:{n}",)) for n in (3, 2)]
    network, _ = tenant.network("vn")
    references_given = [{"uuid": key.uuid} for key in given]
    router = tenant.router("lr", tenant.interface("i", network), route_target_refs=references_given)
    assert references(tenant.run(router)) == {("vn", "target:1:2", "")}


def test_the_target_that_we_gave_it_is_not_a_users() -> None:
    tenant = Tenant()
    router = tenant.router("lr")
    ours = tenant.put("route_target", (OWN,), uuid=object_uuid(INSTALLATION, Name("route_target", (OWN,)), router.uuid))
    tenant.router("lr", route_target_refs=[{"uuid": ours.uuid, "to": [OWN]}])
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_its_configured_list_goes_along() -> None:
    """Each configured target once, on the router's networks too (docs/contrail.md ★23)."""
    tenant = Tenant()
    network, _ = tenant.network("vn")
    configured = {"route_target": ["target:1:1", "target:1:2", "target:1:1"]}
    router = tenant.router("lr", tenant.interface("i", network), configured_route_target_list=configured)
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert references(outcome) == {
        ("lr", OWN, ""),
        ("vn", OWN, ""),
        ("vn", "target:1:1", ""),
        ("vn", "target:1:2", ""),
    }
    assert {name: claim.owner for (_, name), claim in made(outcome).items()} == {
        OWN: router.uuid,
        "target:1:1": "shared",
        "target:1:2": "shared",
    }


def test_a_malformed_configured_target_is_reported_and_the_others_stay() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    configured = {"route_target": ["nonsense", "target:1:2"]}
    router = tenant.router("lr", tenant.interface("i", network), configured_route_target_list=configured)
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert ("vn", "target:1:2", "") in references(outcome)
    assert reasons(outcome) == ["MalformedRouteTarget"]


def test_configured_targets_without_a_network_are_not_made() -> None:
    tenant = Tenant()
    router = tenant.router("lr", configured_route_target_list={"route_target": ["target:1:1"]})
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_a_project_in_vxlan_mode_leaves_the_routing_instances_alone() -> None:
    """The router still has its own target (docs/contrail.md ★4)."""
    tenant = Tenant(vxlan_routing=True)
    network, _ = tenant.network("vn")
    configured = {"route_target": ["target:1:1"]}
    router = tenant.router("lr", tenant.interface("i", network), configured_route_target_list=configured)
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert references(outcome) == {("lr", OWN, "")}
    assert list(made(outcome)) == [("route_target", OWN)]


def test_so_does_a_router_of_vxlan_type() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    router = tenant.router("lr", tenant.interface("i", network), logical_router_type="vxlan-routing")
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_a_network_whose_routing_instance_is_not_there_yet_is_waited_for_by_reading() -> None:
    tenant = Tenant()
    network = tenant.below("virtual_network", "vn")
    router = tenant.router("lr", tenant.interface("i", network))
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert references(outcome) == {("lr", OWN, "")}
    assert ("name", "routing_instance", "default-domain:blue:vn:vn") in outcome.reads


def test_without_its_interface_a_router_claims_nothing_on_the_network() -> None:
    """docs/contrail.md ★23: removal follows from what is no longer claimed."""
    tenant = Tenant()
    tenant.network("vn")
    router = tenant.router("lr")
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_a_configured_target_joins_no_network_of_somebody_else() -> None:
    """docs/contrail.md B.7: what is there although the server rejects it is a problem, and has no effect."""
    tenant = Tenant()
    network, _ = tenant.network("vn")
    listed = {"configured_route_target_list": {"route_target": ["target:64512:8000107", "target:1:1"]}}
    router = tenant.router("lr", tenant.interface("i", network), **listed)
    tenant.number(router, 8000100)
    outcome = tenant.run(router)
    assert references(outcome) == {("lr", OWN, ""), ("vn", OWN, ""), ("vn", "target:1:1", "")}
    assert [problem.reason for problem in outcome.problems] == ["AutomaticRouteTarget"]


def internal(tenant: Tenant, **lists: list[str]) -> dict[str, Any]:
    """The reference to the internal network, as the API server makes both in vxlan mode."""
    network, _ = tenant.network("internal", **lists)
    attribute = {"logical_router_virtual_network_type": "InternalVirtualNetwork"}
    return {"uuid": network.uuid, "attr": attribute}


def test_in_vxlan_mode_its_lists_go_onto_the_internal_network_alone() -> None:
    """docs/contrail.md D.7.3: not its own target, and nothing onto the networks of its ports."""
    tenant = Tenant()
    vpn = tenant.below("bgpvpn", "vpn", import_route_target_list={"route_target": ["target:1:1", "target:1:2"]})
    network, _ = tenant.network("vn")
    router = tenant.router(
        "lr",
        tenant.interface("i", network),
        logical_router_type="vxlan-routing",
        configured_route_target_list={"route_target": ["target:1:1"]},
        virtual_network_refs=[internal(tenant)],
        bgpvpn_refs=[{"uuid": vpn.uuid}],
    )
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {
        ("lr", OWN, ""),
        ("internal", "target:1:1", ""),
        ("internal", "target:1:2", "import"),
    }


def test_its_gateway_is_no_internal_network() -> None:
    tenant = Tenant()
    reference = internal(tenant) | {"attr": {"logical_router_virtual_network_type": "ExternalGateway"}}
    configured = {"route_target": ["target:1:1"]}
    router = tenant.router(
        "lr",
        logical_router_type="vxlan-routing",
        configured_route_target_list=configured,
        virtual_network_refs=[reference, {"uuid": tenant.network("plain")[0].uuid}],
    )
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_in_snat_mode_an_internal_network_gets_nothing() -> None:
    tenant = Tenant()
    router = tenant.router("lr", virtual_network_refs=[internal(tenant)])
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}


def test_the_fabrics_own_routing_instance_gets_nothing() -> None:
    """docs/contrail.md D.1"""
    tenant = Tenant()
    fabric = "default-domain:default-project"
    tenant.put("project", fabric)
    network = tenant.put("virtual_network", f"{fabric}:__link_local__", parent_type="project")
    tenant.put("routing_instance", f"{fabric}:__link_local__:__link_local__", routing_instance_is_default=True)
    configured = {"route_target": ["target:1:1"]}
    router = tenant.router("lr", tenant.interface("i", network), configured_route_target_list=configured)
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}
