"""A network's lists on its primary routing instance (docs/contrail.md D.1; E.3 ★21)."""

from __future__ import annotations

from intentc.evaluation import Status
from tests.unit.contrail.tenant import PROJECT, Tenant, made, reasons, references

LISTS = {
    "route_target_list": ["target:1:1"],
    "export_route_target_list": ["target:2:1"],
    "import_route_target_list": ["target:3:1"],
}


def test_each_list_gives_its_direction() -> None:
    """The list for both directions gives none (docs/contrail.md ★21)."""
    tenant = Tenant()
    network, _ = tenant.network("vn", **LISTS)
    outcome = tenant.run(network)
    assert references(outcome) == {
        ("vn", "target:1:1", ""),
        ("vn", "target:2:1", "export"),
        ("vn", "target:3:1", "import"),
    }


def test_what_is_in_all_lists_is_both_and_the_others_stay() -> None:
    """A target for both directions is in no other list (docs/contrail.md ★21)."""
    tenant = Tenant()
    network, _ = tenant.network(
        "vn",
        route_target_list=["target:1:1"],
        export_route_target_list=["target:2:1", "target:1:1"],
        import_route_target_list=["target:3:1", "target:1:1"],
    )
    assert references(tenant.run(network)) == {
        ("vn", "target:1:1", ""),
        ("vn", "target:2:1", "export"),
        ("vn", "target:3:1", "import"),
    }


def test_the_targets_are_shared_by_all_that_name_them() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn", **LISTS)
    claims = made(tenant.run(network))
    assert sorted(name for _, name in claims) == ["target:1:1", "target:2:1", "target:3:1"]
    assert {claim.owner for claim in claims.values()} == {"shared"}


def test_nothing_is_claimed_while_the_primary_routing_instance_is_not_there() -> None:
    tenant = Tenant()
    key = tenant.below("virtual_network", "vn", route_target_list={"route_target": ["target:1:1"]})
    outcome = tenant.run(key)
    assert (outcome.status, outcome.claims) == (Status.DONE, ())
    assert ("name", "routing_instance", f"{PROJECT}:vn:vn") in outcome.reads


def test_a_malformed_target_is_reported_and_the_others_stay() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn", route_target_list=["target:1:1", "1:2"], import_route_target_list=["target:x:1"])
    outcome = tenant.run(network)
    assert references(outcome) == {("vn", "target:1:1", "")}
    assert reasons(outcome) == ["MalformedRouteTarget"] * 2
    assert "route_target_list: '1:2' is not a route target" in outcome.problems[0].message


def test_a_network_without_lists_claims_nothing() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    assert tenant.run(network).claims == ()


def test_a_target_named_twice_is_claimed_once() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn", route_target_list=["target:1:1", "target:1:1"])
    assert len(tenant.run(network).claims) == 2


def test_a_list_joins_no_network_of_somebody_else() -> None:
    """docs/contrail.md B.7: what is there although the server rejects it is a problem, and has no effect."""
    tenant = Tenant()
    lists = {field: ["target:64512:8000100", "target:064512:08000100", *targets] for field, targets in LISTS.items()}
    network, _ = tenant.network("vn", **lists)
    outcome = tenant.run(network)
    assert sorted(target for _, target, _ in references(outcome)) == ["target:1:1", "target:2:1", "target:3:1"]
    assert {(problem.kind, problem.name, problem.reason) for problem in outcome.problems} == {
        ("virtual_network", f"{PROJECT}:vn", "AutomaticRouteTarget")
    }
    assert len(outcome.problems) == 6
    assert all(field in str(outcome.problems) for field in LISTS)


def test_which_targets_are_automatic_follows_the_autonomous_system() -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=4200000000)
    mine = ["target:64512:8000100", "target:4200000000:7999", "target:4200000000:32768"]
    network, _ = tenant.network("vn", route_target_list=[*mine, "target:4200000000:8000", "target:4200000000:32767"])
    outcome = tenant.run(network)
    assert sorted(target for _, target, _ in references(outcome)) == sorted(mine)
    assert len(outcome.problems) == 2


def test_a_network_without_lists_does_not_ask_for_the_autonomous_system() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    assert not [read for read in tenant.run(network).reads if "global_system_config" in read]


def test_the_lists_of_the_fabrics_own_network_have_no_effect() -> None:
    """docs/contrail.md D.1: its routing instance has no route target at all."""
    tenant = Tenant()
    fabric = "default-domain:default-project"
    tenant.put("project", fabric)
    network = tenant.put(
        "virtual_network",
        f"{fabric}:__link_local__",
        parent_type="project",
        route_target_list={"route_target": ["target:1:1"]},
    )
    tenant.put("routing_instance", f"{fabric}:__link_local__:__link_local__", routing_instance_is_default=True)
    assert tenant.run(network).claims == ()


def test_what_a_bgpvpn_lists_without_effect_is_its_own_problem() -> None:
    tenant = Tenant()
    vpn = tenant.below("bgpvpn", "vpn", route_target_list={"route_target": ["target:64512:8000107", "target:1:1", "x"]})
    network, _ = tenant.network("vn")
    tenant.below("virtual_network", "vn", bgpvpn_refs=[{"uuid": vpn.uuid}])
    outcome = tenant.run(network)
    assert references(outcome) == {("vn", "target:1:1", "")}
    assert {(problem.kind, problem.name, problem.reason) for problem in outcome.problems} == {
        ("bgpvpn", f"{PROJECT}:vpn", reason) for reason in ("AutomaticRouteTarget", "MalformedRouteTarget")
    }


def test_nothing_else_of_a_network_matters() -> None:
    """docs/contrail.md D.15: the rest of its properties reaches no routing instance."""
    tenant = Tenant()
    tenant.network("vn")
    properties = {"forwarding_mode": "l3", "rpf": "disable", "mirror_destination": True, "allow_transit": True}
    network = tenant.below(
        "virtual_network", "vn", port_security_enabled=False, virtual_network_properties=properties, is_shared=True
    )
    assert tenant.run(network).claims == ()
