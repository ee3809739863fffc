"""What chains and links with analyzers name as their reasons: policy, rule, services and ports."""

from __future__ import annotations

import pytest

from intentc.compilers.contrail import compiler
from intentc.evaluation import Explained, Runner
from intentc.model import Key
from tests.oracle.naive_compile import INSTALLATION, NaiveCompile
from tests.support.golden.cases import Case, cases


def case(name: str) -> Case:
    return next(found for found in cases("contrail") if found.name == f"contrail/{name}")


CASE, MIRROR = case("chains/table"), case("mirrors/mirror-only")
CHAIN = "2e1b295e-10b5-51c3-b5ee-3fdb27286693"
LEFT = f"service-{CHAIN}-default-domain_blue_s1"
ASKED = [
    "p network_policy_entries.policy_rule[0]",
    "vn1 network_policy_refs[default-domain:blue:p]",
    "vn2 network_policy_refs[default-domain:blue:p]",
    "s1",
    "s2",
]


def explained(compiled: NaiveCompile, key: Key) -> Explained:
    return Runner(compiled.world.schema, compiler.intents, compiled.world, installation=INSTALLATION).explain(key)


def chain_of(compiled: NaiveCompile) -> Key:
    """The only chain for which a network asks."""
    (name,) = (name for kind, name in compiled.world.facts if kind == "service_chain")
    return Key("service_chain", name)


def reasons(found: Explained, kind: str, name: str, part: str = "") -> list[list[str]]:
    return [
        [f"{source.name.removeprefix('default-domain:blue:')} {source.field}".strip() for source in reason.sources]
        for named, listed in found.reasons.items()
        for reason in listed
        if named.kind == kind and ":".join(named.fq_name).endswith(name) and reason.part == part
    ]


def test_an_instance_names_both_attachments_the_rule_and_all_services() -> None:
    found = explained(NaiveCompile(CASE.resources()), Key("service_chain", CHAIN))
    assert reasons(found, "routing_instance", f"vn1:{LEFT}") == [ASKED]
    assert reasons(found, "routing_instance", f"vn1:{LEFT}", "routing_instance_refs[default-domain:blue:vn1:vn1]") == [
        ASKED
    ]


def test_a_steered_port_names_its_host_as_well() -> None:
    compiled = NaiveCompile(case("chains/transparent").resources())
    chain = chain_of(compiled)
    instance = f"service-{chain.uuid}-default-domain_blue_s1"
    found, asked = explained(compiled, chain), [source for source in ASKED if source != "s2"]
    part = f"routing_instance_refs[default-domain:blue:vn1:{instance}]"
    belongs = "s1-t1-left port_tuple_refs[default-domain:blue:s1:t1]"
    assert reasons(found, "virtual_machine_interface", "s1-t1-left", part) == [[*asked, belongs]]
    assert reasons(found, "instance_ip", f"{instance}-v4") == [asked]


def test_the_chain_of_an_automatic_policy_names_the_flag() -> None:
    compiled = NaiveCompile(case("chains/automatic-policy").resources())
    chain = chain_of(compiled)
    flag = "s1 service_instance_properties.auto_policy"
    instance = f"vn1:service-{chain.uuid}-default-domain_blue_s1"
    assert reasons(explained(compiled, chain), "routing_instance", instance) == [[flag, "s1"]]
    (network,) = (key for key, data in compiled.stored.items() if data["fq_name"] == ["default-domain", "blue", "vn1"])
    found = explained(compiled, network)
    assert reasons(found, "access_control_list", "vn1:vn1") == [[flag]]
    rules = "access_control_list_entries.acl_rule"
    assert reasons(found, "access_control_list", "vn1:vn1", f"{rules}[0]") == [[flag, "vn2"]]


def test_a_mirrored_port_names_its_mirror_and_the_service() -> None:
    compiled = NaiveCompile(case("mirrors/interface").resources())
    (port,) = (key for key, data in compiled.stored.items() if data["fq_name"][-1] == "tap")
    mirror = "virtual_machine_interface_properties.interface_mirror"
    found = reasons(explained(compiled, port), port.kind, "tap", f"{mirror}.mirror_to.analyzer_ip_address")
    assert found == [[f"tap {mirror}", "a"]]


def test_a_rule_names_the_port_and_an_address_rule_the_address() -> None:
    compiled = NaiveCompile(CASE.resources())
    (port,) = (
        key
        for key, data in compiled.stored.items()
        if data["fq_name"][-1] == "s2-t1-left" and "port_tuple_refs" in data
    )
    found, part = explained(compiled, port), "vrf_assign_table.vrf_assign_rule"
    belongs = [
        "s2-t1-left port_tuple_refs[default-domain:blue:s2:t1]",
        "s2-t1-left virtual_network_refs[default-domain:blue:vn1]",
    ]
    assert reasons(found, port.kind, "s2-t1-left", f"{part}[2]") == [ASKED + belongs]
    assert reasons(found, port.kind, "s2-t1-left", f"{part}[1]") == [[*ASKED, *belongs, "vn1:pool:f"]]


def test_a_link_with_an_analyzers_network_names_the_network_whose_rule_mirrors() -> None:
    compiled = NaiveCompile(MIRROR.resources())
    for name in ("vn1", "vn3"):
        (instance,) = (key for key, data in compiled.stored.items() if data["fq_name"][2:] == [name, name])
        other = "vn3" if name == "vn1" else "vn1"
        part = f"routing_instance_refs[default-domain:blue:{other}:{other}]"
        found = reasons(explained(compiled, instance), "routing_instance", f"{name}:{name}", part)
        assert found == [[ASKED[1], ASKED[0]]]


@pytest.mark.parametrize("source", ["vn1", "p", "vn2", "s1", "s2"])
def test_without_one_of_its_sources_there_is_no_chain(source: str) -> None:
    left = [(kind, data) for kind, data in CASE.resources() if data["fq_name"][2:3] != [source]]
    made = [name for name in NaiveCompile(left).objects() if name.fq_name[-1].startswith("service-")]
    assert made == []
