"""A group's two access control lists (docs/contrail.md D.5; E.1 TestCreateSecurityGroupCreatesACLs, TestMakeACLRule; ★2
★19)."""

from __future__ import annotations

from intentc.evaluation import Status
from intentc.model import Name
from tests.unit.contrail.tenant import (
    ALL_V4,
    ALL_V6,
    LOCAL,
    PROJECT,
    Tenant,
    entries,
    made,
    named,
    reasons,
    references,
    rule,
    sides,
)


def test_a_group_without_rules_has_both_lists_empty() -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.group("empty"))
    assert outcome.status is Status.DONE
    assert entries(outcome) == {"ingress": [], "egress": []}


def test_the_lists_are_the_groups_own_children() -> None:
    tenant = Tenant()
    key = tenant.group("web")
    claims = made(tenant.run(key)).values()
    assert [claim.name for claim in claims] == [
        Name("access_control_list", ("default-domain", "blue", "web", "ingress-access-control-list")),
        Name("access_control_list", ("default-domain", "blue", "web", "egress-access-control-list")),
    ]
    assert {(claim.parent.key, claim.owner) for claim in claims} == {(key, key.uuid)}


def test_the_default_group_of_a_project() -> None:
    """It lets in itself and lets everything out, in IPv4 and IPv6 (docs/contrail.md ★2)."""
    tenant = Tenant()
    key = tenant.group(
        "default",
        rule([named("default")], [LOCAL], rule_uuid="bdf042c0"),
        rule([named("default")], [LOCAL], ethertype="IPv6", rule_uuid="1f77914a"),
        rule([LOCAL], [ALL_V4], rule_uuid="b7c07625"),
        rule([LOCAL], [ALL_V6], ethertype="IPv6", rule_uuid="6a5f3026"),
        number=8000002,
    )
    outcome = tenant.run(key)
    found = entries(outcome)
    everywhere = {"end_port": 65535}
    assert found["ingress"] == [
        {
            "rule_uuid": uuid,
            "match_condition": {
                "protocol": "any",
                "ethertype": ethertype,
                "src_address": {"security_group": "8000002"},
                "src_port": everywhere,
                "dst_port": everywhere,
            },
            "action_list": {"simple_action": "pass"},
        }
        for uuid, ethertype in (("bdf042c0", "IPv4"), ("1f77914a", "IPv6"))
    ]
    assert [r["rule_uuid"] for r in found["egress"]] == ["b7c07625", "6a5f3026"]
    assert sides(found["egress"]) == [
        ({}, {"subnet": {"ip_prefix": "0.0.0.0"}}),
        ({}, {"subnet": {"ip_prefix": "::"}}),
    ]
    assert (outcome.problems, references(outcome)) == ((), set())


def test_an_action_of_deny_becomes_pass() -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.group("g", rule([LOCAL], [ALL_V4], action_list={"simple_action": "deny"})))
    assert entries(outcome)["egress"][0]["action_list"] == {"simple_action": "pass"}


def test_the_direction_is_not_copied() -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.group("g", rule([LOCAL], [ALL_V4])))
    assert "direction" not in entries(outcome)["egress"][0]


def test_a_change_of_the_groups_own_number_reaches_its_rules() -> None:
    """A group that names itself has its number in its rules (docs/contrail.md ★19)."""
    tenant = Tenant()
    rules = (rule([LOCAL], [named("g")]),)
    assert sides(entries(tenant.run(tenant.group("g", *rules, number=8000001)))["egress"]) == [
        ({}, {"security_group": "8000001"})
    ]
    assert sides(entries(tenant.run(tenant.group("g", *rules, number=100)))["egress"]) == [
        ({}, {"security_group": "100"})
    ]


def test_a_group_that_comes_later_appears_in_the_rules() -> None:
    """docs/contrail.md ★18: the absent name is read, so its arrival wakes the group."""
    tenant = Tenant()
    key = tenant.group("sg1", rule([LOCAL], [named("sg2"), named("sg3")], rule_uuid="r1"))
    before = tenant.run(key)
    assert entries(before)["egress"] == []
    assert reasons(before) == ["UnknownSecurityGroup"] * 2
    assert "rule 1 (r1): there is no security group default-domain:blue:sg2" in before.problems[0].message
    assert ("name", "security_group", f"{PROJECT}:sg2") in before.reads
    tenant.group("sg2", number=8000007)
    after = tenant.run(key)
    assert sides(entries(after)["egress"]) == [({}, {"security_group": "8000007"})]
    assert reasons(after) == ["UnknownSecurityGroup"]


def test_the_number_of_another_group_is_read() -> None:
    tenant = Tenant()
    other = tenant.group("other")
    outcome = tenant.run(tenant.group("g", rule([named("other")], [LOCAL])))
    assert ("object", "security_group", other.uuid) in outcome.reads


def test_a_group_without_a_number_yet_is_left_out_and_reported() -> None:
    tenant = Tenant()
    outcome = tenant.run(tenant.group("g", rule([named("g")], [LOCAL]), number=0))
    assert entries(outcome) == {"ingress": [], "egress": []}
    assert "has no number yet" in outcome.problems[0].message
