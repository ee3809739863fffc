"""Many networks share one policy: a change costs one evaluation of each, not of each pair, and limits reject in words
(docs/contrail.md D.3, D.4.1, D.4.5)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from intentc.compilers.contrail import connected_networks, network_rules
from intentc.journal.journal import Entry
from intentc.model import Kind
from intentc.planning import planner
from intentc.planning.merge import Desired, merge
from tests.support.contrail_policies import attached, links, networks_sharing, pairs, policy, rule
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio

NETWORKS = 60
MANY = 30


async def evaluated(system: ContrailSystem, **change: Any) -> Counter[str]:
    """How often intents of each kind are evaluated because of a change of the policy."""
    before = len(system.parts.journal)
    await system.change("network_policy", "blue:hub", **change)
    assert len(system.parts.journal) < 10_000, "the journal forgot lines"
    lines = [entry for entry in list(system.parts.journal)[before:] if isinstance(entry, Entry)]
    assert all(line.status == "done" for line in lines)
    return Counter(line.origin.kind for line in lines)


async def test_a_changed_policy_evaluates_each_affected_intent_once(
    system: ContrailSystem,
) -> None:
    """Three changes in one world, since its 3,500 links cost most of the test."""
    await networks_sharing(system, NETWORKS, rule("local", "policy hub"))
    system.parts.journal.clear()
    found = await evaluated(system, network_policy_entries=policy(rule("local", "policy hub", protocol="tcp")))
    assert found == {"network_policy": 1, "virtual_network": NETWORKS}

    await system.change("network_policy", "blue:hub", network_policy_entries=policy(rule("any", "any")))
    assert {len(others) for others in (await links(system)).values()} == {NETWORKS - 1}

    system.parts.journal.clear()
    found = await evaluated(system, network_policy_entries=policy(rule("any", "any", "deny")))
    assert await links(system) == {}
    assert (found["network_policy"], found["virtual_network"]) == (1, NETWORKS)
    assert found["routing_instance"] == NETWORKS


async def test_planning_a_link_does_not_merge_the_claims_of_the_other_side(
    system: ContrailSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of n instances refers to n others, on which n claim something: that would be n³."""
    merged: Counter[str] = Counter()

    def counted(kind: Kind, *arguments: Any) -> Desired:
        merged[kind.name] += 1
        return merge(kind, *arguments)

    monkeypatch.setattr(planner, "merge", counted)
    await networks_sharing(system, MANY, rule("any", "any"))
    assert {len(others) for others in (await links(system)).values()} == {MANY - 1}
    assert merged["routing_instance"] <= 10 * MANY


async def test_a_network_joins_many(system: ContrailSystem) -> None:
    """Whose rules name it is evaluated, once; and each instance that it is linked with."""
    await networks_sharing(system, MANY, rule("any", "any"))
    await system.create("virtual_network", "blue:late")
    before = len(system.parts.journal)
    await system.change("virtual_network", "blue:late", network_policy_refs=attached("hub"))
    lines = [entry for entry in list(system.parts.journal)[before:] if isinstance(entry, Entry)]
    found = Counter(line.origin.kind for line in lines)
    assert (found["virtual_network"], found["routing_instance"]) == (1, MANY + 1)
    assert len((await links(system))["late"]) == MANY
    await system.check()


async def test_too_many_rules_hold_the_network_with_its_list_and_say_so(
    system: ContrailSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_rules, "MAX_RULES", 5)
    await networks_sharing(system, 5, rule("local", "policy hub"))
    assert len(await pairs(system, "vn000") or []) == 6
    assert system.problems == {}
    await system.create("virtual_network", "blue:late", network_policy_refs=attached("hub"))
    assert len(await pairs(system, "vn000") or []) == 6
    assert await pairs(system, "late") is None
    message = system.problems["EvaluationFailed"]
    assert "more than 5 rules" in message and "rule 1 of default-domain:blue:hub" in message
    await system.change("virtual_network", "blue:vn001", network_policy_refs=[])
    assert system.problems == {}
    await system.check()


async def test_too_many_links_hold_the_instance_with_its_links_and_say_so(
    system: ContrailSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connected_networks, "MAX_LINKS", 3)
    await networks_sharing(system, 4, rule("any", "any"))
    before = await links(system)
    assert {len(others) for others in before.values()} == {3}
    await system.create("virtual_network", "blue:late", network_policy_refs=attached("hub"))
    assert await links(system) == before
    assert "with 4 networks, more than 3" in system.problems["EvaluationFailed"]
    await system.remove("virtual_network", "blue:late")
    assert system.problems == {}
    await system.check()
