"""The conversion of one group's rules, part by part (docs/contrail.md D.5.1; E.1 TestToACLRules, TestIsIngress,
TestIsLocal, TestSecurityGroupNameToID; E.3 ★5 ★6)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.contrail.security_group import group_number
from intentc.evaluation import Intent, Outcome, Runner
from tests.unit.contrail.tenant import (
    ALL_PORTS,
    ALL_V4,
    ALL_V6,
    INSTALLATION,
    LOCAL,
    PROJECT,
    Tenant,
    entries,
    named,
    reasons,
    rule,
    sides,
)

V4 = {"subnet": {"ip_prefix": "0.0.0.0"}}
V6 = {"subnet": {"ip_prefix": "::"}}


def converted(*rules: dict[str, Any]) -> tuple[Outcome, list[Any], list[Any]]:
    tenant = Tenant()
    tenant.group("known", number=8000002)
    outcome = tenant.run(tenant.group("own", *rules, number=8000001))
    found = entries(outcome)
    return outcome, found["ingress"], found["egress"]


@pytest.mark.parametrize(
    ("src", "dst", "ethertype", "ingress", "egress"),
    [
        (named("known"), LOCAL, "IPv4", [({"security_group": "8000002"}, {})], []),
        (LOCAL, ALL_V4, "IPv4", [], [({}, V4)]),
        (LOCAL, ALL_V6, "IPv6", [], [({}, V6)]),
        (LOCAL, LOCAL, "IPv4", [({}, {})], []),
        (ALL_V4, ALL_V4, "IPv4", [], []),
    ],
    ids=["group to local", "local to all IPv4", "local to all IPv6", "both local", "neither local"],
)
def test_the_side_that_is_local_decides_on_the_list(
    src: Any, dst: Any, ethertype: Any, ingress: Any, egress: Any
) -> None:
    """TestIsIngress, TestIsLocal"""
    outcome, found_ingress, found_egress = converted(rule([src], [dst], ethertype=ethertype))
    assert (sides(found_ingress), sides(found_egress)) == (ingress, egress)
    assert reasons(outcome) == ([] if ingress or egress else ["RuleWithoutLocal"])


@pytest.mark.parametrize(
    ("name", "number"),
    [("local", ""), ("", ""), ("any", "-1"), (f"{PROJECT}:known", "8000002"), (f"{PROJECT}:own", "8000001")],
)
def test_a_groups_name_becomes_its_number(name: Any, number: Any) -> None:
    """TestSecurityGroupNameToID"""
    assert _number(name) == number


def test_an_unknown_groups_name_has_no_number() -> None:
    """TestSecurityGroupNameToID"""
    error = _number(f"{PROJECT}:unknown")
    assert isinstance(error, LookupError)
    assert str(error) == "there is no security group default-domain:blue:unknown"


def _number(name: str) -> Any:
    found: list[Any] = []

    class Asking(Intent):
        kind = "security_group"

        def evaluate(self, ctx: Any) -> tuple[()]:
            try:
                found.append(group_number(name, self, ctx))
            except LookupError as error:
                found.append(error)
            return ()

    tenant = Tenant()
    tenant.group("known", number=8000002)
    key = tenant.group("own", number=8000001)
    Runner(tenant.schema, {"security_group": Asking}, tenant, installation=INSTALLATION).run(key)
    return found[0]


def test_a_local_address_does_not_stick_to_later_pairs() -> None:
    """Three destinations give one ingress rule and two egress rules (docs/contrail.md ★5)."""
    _, ingress, egress = converted(rule([LOCAL], [ALL_V4, LOCAL, ALL_V4]))
    assert (sides(ingress), sides(egress)) == ([({}, {})], [({}, V4), ({}, V4)])


def test_a_pair_without_local_is_dropped_alone() -> None:
    """The other pair of the same rule stays (docs/contrail.md ★5)."""
    outcome, ingress, egress = converted(rule([LOCAL, ALL_V4], [ALL_V4], rule_uuid="r"))
    assert (sides(ingress), sides(egress)) == ([], [({}, V4)])
    assert "rule 1 (r): neither 0.0.0.0/0 nor 0.0.0.0/0 is local" in outcome.problems[0].message


def test_a_rule_with_an_unknown_protocol_is_dropped_alone() -> None:
    """The other rule of the group stays (docs/contrail.md ★6)."""
    outcome, ingress, egress = converted(
        rule([LOCAL], [ALL_V4], protocol="unknown protocol 1", rule_uuid="r1"),
        rule([LOCAL], [ALL_V6, LOCAL], ethertype="IPv6", rule_uuid="r2"),
    )
    assert [r["rule_uuid"] for r in ingress + egress] == ["r2", "r2"]
    assert reasons(outcome) == ["UnknownProtocol"]
    assert "rule 1 (r1): protocol 'unknown protocol 1' is unknown" in outcome.problems[0].message


def test_an_unknown_group_is_dropped_alone() -> None:
    """The other address of the same rule stays (docs/contrail.md ★6)."""
    outcome, ingress, egress = converted(rule([LOCAL], [ALL_V6, named("unknown")], ethertype="IPv6"))
    assert (sides(ingress), sides(egress)) == ([], [({}, V6)])
    assert reasons(outcome) == ["UnknownSecurityGroup"]


def test_a_known_group_stands_with_its_number() -> None:
    """Access control lists have no names of groups (docs/contrail.md ★6)."""
    assert sides(converted(rule([LOCAL], [named("known")]))[2]) == [({}, {"security_group": "8000002"})]


def test_any_group_is_minus_one() -> None:
    assert sides(converted(rule([{"security_group": "any"}], [LOCAL]))[1]) == [({"security_group": "-1"}, {})]


def test_what_else_an_address_has_is_kept() -> None:
    subnets = {"subnet_list": [{"ip_prefix": "10.0.0.0", "ip_prefix_len": 8}, {"ip_prefix": "11.0.0.0"}]}
    _, ingress, egress = converted(rule([{**LOCAL, **ALL_V4}], [subnets]), rule([{**named("known"), **V4}], [LOCAL]))
    assert sides(egress) == [(V4, subnets)]
    assert sides(ingress) == [({**V4, "security_group": "8000002"}, {})]


def test_an_empty_list_of_ports_means_all_ports() -> None:
    _, _, egress = converted(rule([LOCAL], [ALL_V4], src_ports=[], dst_ports=[]))
    assert [(r["match_condition"]["src_port"], r["match_condition"]["dst_port"]) for r in egress] == [
        ({"end_port": 65535}, {"end_port": 65535})
    ]


def test_ports_are_copied() -> None:
    ports = [{"start_port": 80, "end_port": 90}, {"start_port": -1, "end_port": -1}]
    _, _, egress = converted(rule([LOCAL], [ALL_V4], dst_ports=ports))
    assert [r["match_condition"]["dst_port"] for r in egress] == ports


def test_rules_come_by_source_then_source_port_then_destination_then_destination_port() -> None:
    one, two = {"start_port": 1, "end_port": 1}, {"start_port": 2, "end_port": 2}
    _, _, egress = converted(
        rule([LOCAL], [ALL_V4, named("known")], src_ports=[one, two], dst_ports=[two, one]),
        rule([LOCAL], [ALL_V4], src_ports=[ALL_PORTS]),
    )
    order = [
        (
            r["match_condition"]["src_port"].get("start_port", 0),
            "subnet" in r["match_condition"]["dst_address"],
            r["match_condition"]["dst_port"].get("start_port", 0),
        )
        for r in egress
    ]
    assert order == [
        (source, subnet, destination) for source in (1, 2) for subnet in (True, False) for destination in (2, 1)
    ] + [(0, True, 0)]


def test_duplicates_stay() -> None:
    assert len(converted(rule([LOCAL], [ALL_V4, ALL_V4]), rule([LOCAL], [ALL_V4]))[2]) == 3


@pytest.mark.parametrize(("src", "dst", "side"), [([], [LOCAL], "source"), ([LOCAL], [], "destination")])
def test_a_rule_without_an_address_on_one_side_is_dropped_and_reported(src: Any, dst: Any, side: Any) -> None:
    outcome, ingress, egress = converted(rule(src, dst))
    assert ingress + egress == []
    assert outcome.problems[0].message == f"rule 1 has no {side} address; the rule is left out"
