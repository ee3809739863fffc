"""Security logging objects as policies, groups and references change (docs/contrail.md D.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contrail_system import ContrailSystem, fq_name, rule, rules
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio


def policy_rules(*uuids: str) -> Document:
    ports = [{"start_port": -1, "end_port": -1}]
    return rules(
        *(
            {
                "rule_uuid": uuid,
                "direction": "<>",
                "protocol": protocol,
                "src_addresses": [{"virtual_network": "any"}],
                "dst_addresses": [{"virtual_network": "any"}],
                "src_ports": ports,
                "dst_ports": ports,
                "action_list": {"simple_action": "deny"},
            }
            for uuid, protocol in zip(uuids, ("udp", "icmp", "tcp"), strict=False)
        )
    )


def to(name: str, *chosen: tuple[str, int]) -> list[Document]:
    """A reference that logs ``chosen`` (uuid, rate), or all rules."""
    entries = [{"rule_uuid": uuid, "rate": rate} for uuid, rate in chosen]
    return [{"to": fq_name(f"blue:{name}"), **({"attr": {"rule": entries}} if entries else {})}]


async def logged(system: ContrailSystem) -> set[tuple[str, int]]:
    document = (await system.stored("security_logging_object"))["default-domain:blue:slo"]
    entries = (document.get("security_logging_object_rules") or {}).get("rule") or []
    found = {(entry["rule_uuid"], entry["rate"]) for entry in entries}
    assert len(found) == len(entries)
    return found


async def apply_slo(system: ContrailSystem, **references: Any) -> None:
    await system.create(
        "security_logging_object", "blue:slo", parent_type="project", security_logging_object_rate=300, **references
    )


@pytest.fixture
async def system(system: ContrailSystem) -> ContrailSystem:
    await system.create("network_policy", "blue:np", network_policy_entries=policy_rules("r1", "r2"))
    return system


@pytest.mark.also_live
async def test_chosen_rules_are_logged_until_the_reference_goes(system: ContrailSystem) -> None:
    await apply_slo(system, network_policy_refs=to("np", ("r1", 200)))
    assert await logged(system) == {("r1", 200)}
    await system.change("security_logging_object", "blue:slo", network_policy_refs=[])
    assert await logged(system) == set()


async def test_a_reference_that_chooses_nothing_logs_every_rule(system: ContrailSystem) -> None:
    await apply_slo(system, network_policy_refs=to("np"))
    assert await logged(system) == {("r1", 300), ("r2", 300)}
    await system.change("security_logging_object", "blue:slo", security_logging_object_rate=7)
    assert await logged(system) == {("r1", 7), ("r2", 7)}


async def test_a_rule_that_a_policy_gets_later_is_logged_too(system: ContrailSystem) -> None:
    await system.create("network_policy", "blue:later")
    await apply_slo(system, network_policy_refs=to("later"))
    assert await logged(system) == set()
    await system.change("network_policy", "blue:later", network_policy_entries=policy_rules("r3"))
    assert await logged(system) == {("r3", 300)}
    await system.change("network_policy", "blue:later", network_policy_entries=rules())
    assert await logged(system) == set()


async def test_policies_and_groups_are_logged_together(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:g", security_group_entries=rules(rule("local", "all", rule_uuid="s1")))
    await apply_slo(system, network_policy_refs=to("np"), security_group_refs=to("g"))
    assert await logged(system) == {("r1", 300), ("r2", 300), ("s1", 300)}
    await system.change("security_logging_object", "blue:slo", network_policy_refs=[], security_group_refs=[])
    assert await logged(system) == set()


async def test_a_restart_writes_nothing_and_what_others_wrote_is_repaired(system: ContrailSystem) -> None:
    await apply_slo(system, network_policy_refs=to("np"))
    system = await system.restart()
    assert system.write.written == []
    await system.change("security_logging_object", "blue:slo", security_logging_object_rules={"rule": []})
    assert await logged(system) == {("r1", 300), ("r2", 300)}


async def test_the_start_removes_rules_of_a_reference_that_was_deleted_before_it(
    system: ContrailSystem,
) -> None:
    await apply_slo(system, network_policy_refs=to("np"))
    system.stop()
    await system.change("security_logging_object", "blue:slo", network_policy_refs=[])
    assert await logged(system) == {("r1", 300), ("r2", 300)}
    system = await system.restart()
    assert await logged(system) == set()
