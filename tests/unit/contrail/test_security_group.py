"""The access control lists of security groups (docs/contrail.md D.5); golden pairs show the conversion."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import Outcome
from tests.unit.contrail.tenant import (
    LOCAL,
    PROJECT,
    Tenant,
    entries,
    named,
    reasons,
    rule,
    sides,
)


def converted(*rules: dict[str, Any]) -> tuple[Outcome, list[Any], list[Any]]:
    tenant = Tenant()
    tenant.group("known", number=8000002)
    outcome = tenant.run(tenant.group("own", *rules, number=8000001))
    found = entries(outcome)
    return outcome, found["ingress"], found["egress"]


@pytest.mark.parametrize(("src", "dst", "side"), [([], [LOCAL], "source"), ([LOCAL], [], "destination")])
def test_a_rule_without_an_address_on_one_side_is_dropped_and_reported(src: Any, dst: Any, side: Any) -> None:
    outcome, ingress, egress = converted(rule(src, dst))
    assert ingress + egress == []
    assert outcome.problems[0].message == f"rule 1 has no {side} address; the rule is left out"


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
