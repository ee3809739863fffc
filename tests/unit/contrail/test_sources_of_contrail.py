"""The reasons of each rule and each route target, while an explanation is requested."""

from __future__ import annotations

from intentc.compilers.contrail import compiler
from intentc.evaluation import Explained, Runner
from intentc.model import Key, Source
from tests.unit.contrail.tenant import ALL_V4, INSTALLATION, LOCAL, PROJECT, Tenant, named, rule

OWN = "target:64512:8000100"


def explained(tenant: Tenant, key: Key) -> Explained:
    return Runner(tenant.schema, compiler.intents, tenant, installation=INSTALLATION).explain(key)


def reasons_of(tenant: Tenant, key: Key) -> dict[tuple[str, str], list[str]]:
    """(last element of the object's name, part) → for each reason its sources, ``name field`` each."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, reasons in explained(tenant, key).reasons.items():
        for reason in reasons:
            sources = " + ".join(map(_shown, reason.sources))
            found.setdefault((name.fq_name[-1], reason.part), []).append(sources)
    return found


def _shown(source: Source) -> str:
    return f"{source.name.removeprefix(f'{PROJECT}:')} {source.field}".strip()


def test_a_rule_names_the_groups_rule_and_the_numbered_group() -> None:
    tenant = Tenant()
    tenant.group("web", number=8000002)
    two_ports = [{"start_port": 80, "end_port": 80}, {"start_port": 443, "end_port": 443}]
    own = tenant.group("own", rule([LOCAL], [ALL_V4]), rule([named("web")], [LOCAL], dst_ports=two_ports))
    entries = "access_control_list_entries.acl_rule"
    from_web = "own security_group_entries.policy_rule[1] + web"
    assert reasons_of(tenant, own) == {
        ("ingress-access-control-list", f"{entries}[0]"): [from_web],
        ("ingress-access-control-list", f"{entries}[1]"): [from_web],
        ("egress-access-control-list", f"{entries}[0]"): ["own security_group_entries.policy_rule[0]"],
    }


def test_a_group_that_names_itself_needs_no_other() -> None:
    tenant = Tenant()
    own = tenant.group("own", rule([named("own")], [LOCAL]))
    ((_, sources),) = reasons_of(tenant, own).items()
    assert sources == ["own security_group_entries.policy_rule[0]"]


def test_a_target_that_stands_in_two_lists_has_two_reasons() -> None:
    tenant = Tenant()
    lists = {"import_route_target_list": ["target:1:2", "target:1:1"], "export_route_target_list": ["target:1:1"]}
    network, _ = tenant.network("vn", **lists)
    found = reasons_of(tenant, network)
    both = ["vn import_route_target_list.route_target[1]", "vn export_route_target_list.route_target[0]"]
    assert found["target:1:1", ""] == both
    assert found["vn", "route_target_refs[target:1:1]"] == both


def test_a_routers_target_is_there_for_each_interface() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    router = tenant.router("lr", tenant.interface("i1", network), tenant.interface("i2", network))
    tenant.number(router, 8000100)
    found = reasons_of(tenant, router)
    assert found[OWN, ""] == found["lr", f"route_target_refs[{OWN}]"] == ["lr"]
    assert found["vn", f"route_target_refs[{OWN}]"] == [
        f"lr + lr virtual_machine_interface_refs[{PROJECT}:{i}] + {i} virtual_network_refs[{PROJECT}:vn] + vn"
        for i in ("i1", "i2")
    ]


def test_an_autonomous_system_that_somebody_set_is_a_source_of_own_targets() -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=64999)
    _, instance = tenant.network("vn")
    tenant.number(instance, 8000100)
    system = "default-global-system-config autonomous_system"
    assert reasons_of(tenant, instance)["target:64999:8000100", ""] == [f"vn:vn + {system}"]


def test_a_target_that_a_user_gave_comes_from_the_reference() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    given = tenant.put("route_target", ("target:1:1",))
    router = tenant.router("lr", tenant.interface("i", network), route_target_refs=[{"uuid": given.uuid}])
    ((_, (why,)),) = reasons_of(tenant, router).items()
    assert why.startswith("lr route_target_refs[target:1:1] + lr virtual_machine_interface_refs")


def test_explaining_yields_the_same_claims_and_problems() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn", route_target_list=["target:1:1"])
    router = tenant.router("lr", tenant.interface("i", network))
    tenant.number(router, 8000100)
    group = tenant.group("own", rule([named("own")], [LOCAL]))
    for key in (network, router, group):
        asked, outcome = explained(tenant, key).outcome, tenant.run(key)
        assert (asked.claims, asked.problems) == (outcome.claims, outcome.problems)


def test_a_target_of_a_bgpvpn_names_its_list_and_the_reference() -> None:
    tenant = Tenant()
    vpn = tenant.below("bgpvpn", "vpn", export_route_target_list={"route_target": ["target:1:1"]})
    network, _ = tenant.network("vn", route_target_list=["target:1:1"])
    tenant.below(
        "virtual_network",
        "vn",
        route_target_list={"route_target": ["target:1:1"]},
        bgpvpn_refs=[{"uuid": vpn.uuid}],
    )
    assert reasons_of(tenant, network)["vn", "route_target_refs[target:1:1]"] == [
        "vn route_target_list.route_target[0]",
        f"vpn export_route_target_list.route_target[0] + vn bgpvpn_refs[{PROJECT}:vpn]",
    ]


def test_a_logged_rule_names_the_reference_and_the_rule() -> None:
    tenant = Tenant()
    rules = [{"rule_uuid": uuid} for uuid in ("r1", "r2")]
    policy = tenant.below("network_policy", "np", network_policy_entries={"policy_rule": rules})
    group = tenant.group("g", rule([LOCAL], [ALL_V4], rule_uuid="s1"))
    logging = tenant.below(
        "security_logging_object",
        "slo",
        network_policy_refs=[{"uuid": policy.uuid}],
        security_group_refs=[{"uuid": group.uuid, "attr": {"rule": [{"rule_uuid": "s1"}]}}],
    )
    logged = "security_logging_object_rules.rule"
    of_policy = f"slo network_policy_refs[{PROJECT}:np] + np network_policy_entries.policy_rule"
    assert reasons_of(tenant, logging) == {
        ("slo", f"{logged}[0]"): [f"{of_policy}[0]"],
        ("slo", f"{logged}[1]"): [f"{of_policy}[1]"],
        ("slo", f"{logged}[2]"): [f"slo security_group_refs[{PROJECT}:g] + g"],
    }


def test_a_list_names_the_link_for_which_it_stays() -> None:
    """Without the policy the list would still be there, so taking the policy away explains nothing alone."""
    tenant = Tenant()
    fabric = tenant.below("virtual_network", "fabric", is_provider_network=True)
    policy = tenant.below("network_policy", "p", network_policy_entries={"policy_rule": []})
    network = tenant.below(
        "virtual_network",
        "vn",
        network_policy_refs=[{"uuid": policy.uuid, "attr": {"sequence": {"major": 0}}}],
        virtual_network_refs=[{"uuid": fabric.uuid}],
        fabric_snat=True,
    )
    assert reasons_of(tenant, network)["vn", ""] == [
        f"vn network_policy_refs[{PROJECT}:p]",
        f"vn virtual_network_refs[{PROJECT}:fabric]",
        "vn fabric_snat",
    ]
