"""A compile from scratch compared with the store: each kind of difference is reported, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.directives import Book, Drop, Pause
from intentc.model import Key
from intentc.offline.audit import Difference, Report, audit
from intentc.planning import DeleteGuard
from intentc.watch.protocol import Compacted
from tests.support.contrail_system import ContrailSystem, fq_name, rule, rules

pytestmark = pytest.mark.anyio

MANY = 20
OWN_RULES = rules(rule("local", "all"))


async def audited(system: ContrailSystem, **options: Any) -> Report:
    """An audit of the system's store."""
    offline = system.offline
    return await audit(system.loaded, offline.store, offline.local, path="contrail", installation="default", **options)


async def tenant(system: ContrailSystem) -> None:
    """Groups, networks and a router: more than twenty objects of ours."""
    for number in range(8):
        await system.create("security_group", f"blue:group-{number}", security_group_entries=OWN_RULES)
    for number in range(4):
        await system.create("virtual_network", f"blue:net-{number}")
    await system.create("logical_router", "blue:router")


async def list_key(system: ContrailSystem, group: str) -> Key:
    """The egress list of a group."""
    document = (await system.stored("access_control_list"))[f"default-domain:blue:{group}:egress-access-control-list"]
    return Key("access_control_list", document["uuid"])


def differences(report: Report) -> dict[str, list[str]]:
    """Object → operations with their fields."""
    return {
        f"{difference.kind} {difference.name}": [
            " ".join((change.operation, *change.fields)) for change in difference.operations
        ]
        for difference in report.differences
    }


def only(report: Report) -> Difference:
    (difference,) = report.differences
    return difference


async def test_a_converged_world_does_not_differ(system: ContrailSystem) -> None:
    await tenant(system)
    report = await audited(system)
    assert (report.differences, report.held, report.withheld, report.problems) == ((), 0, 0, 0)
    assert report.owned == len(await system.owned()) >= MANY
    assert report.resources > report.owned
    assert report.revision >= report.last_change > 0


async def test_the_audit_reports_an_edited_object_with_its_fields_and_intent(
    system: ContrailSystem,
) -> None:
    uuid = await system.create("security_group", "blue:web", security_group_entries=OWN_RULES)
    system.stop()
    key = await list_key(system, "web")
    await system.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    report = await audited(system)
    difference = only(report)
    assert differences(report) == {
        "access_control_list default-domain:blue:web:egress-access-control-list": ["update access_control_list_entries"]
    }
    assert difference.origins == (f"security_group/{uuid}",)
    assert difference.revision == await system.revision(key) == report.last_change


async def test_a_missing_object_is_reported(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:web", security_group_entries=OWN_RULES)
    system.stop()
    await system.put(await list_key(system, "web"), None)
    report = await audited(system)
    assert differences(report) == {
        "access_control_list default-domain:blue:web:egress-access-control-list": ["create access_control_list_entries"]
    }
    assert only(report).revision == 0


async def test_what_was_left_behind_is_reported_as_a_delete(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:web", security_group_entries=OWN_RULES)
    system.stop()
    await system.put(
        Key("security_group", await system.offline.server.identify("security_group", fq_name("blue:web"))), None
    )
    report = await audited(system)
    assert differences(report) == {
        f"access_control_list default-domain:blue:web:{direction}-access-control-list": ["delete"]
        for direction in ("egress", "ingress")
    }


async def test_the_audit_names_the_relation_of_a_lost_reference_and_no_foreign_object(
    system: ContrailSystem,
) -> None:
    await system.create("virtual_network", "blue:net")
    system.stop()
    instance = await system.offline.server.identify("routing_instance", fq_name("blue:net:net"))
    await system.offline.server.update(Key("routing_instance", instance), {"route_target_refs": []})
    await system.create("route_target", "target:1:1")
    assert differences(await audited(system)) == {
        "routing_instance default-domain:blue:net:net": ["update route_target_refs"]
    }


async def test_the_audit_shows_a_placeholder_for_a_missing_number_and_allocates_none(system: ContrailSystem) -> None:
    system.stop()
    await system.create("logical_router", "blue:router")
    numbers = await system.numbers()
    assert differences(await audited(system)) == {
        "logical_router default-domain:blue:router": ["allocate <route_target_number for default-domain:blue:router>"]
    }
    assert await system.numbers() == numbers


async def test_nothing_is_written_and_the_same_world_gives_the_same_bytes(system: ContrailSystem) -> None:
    await tenant(system)
    system.stop()
    for number in range(8):
        await system.put(await list_key(system, f"group-{number}"), None)
    before = (await system.offline.store.range("/", "0")).items
    first, second = [msgspec.structs.replace(await audited(system), seconds=0.0) for _ in range(2)]
    assert len(first.differences) == 8
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert (await system.offline.store.range("/", "0")).items == before


async def test_no_value_of_a_field_gets_into_the_report(system: ContrailSystem) -> None:
    canary = rule("local", "all", rule_uuid="00000000-0000-4000-8000-0000000ca9a7")
    system.stop()
    await system.create("security_group", "blue:web", security_group_entries=rules(canary))
    text = msgspec.json.encode(await audited(system)).decode()
    assert "access_control_list_entries" in text
    assert "ca9a7" not in text
    assert "0.0.0.0" not in text


async def test_deletes_without_approval_are_withheld_and_no_differences(system: ContrailSystem) -> None:
    await tenant(system)
    system.stop()
    for number in range(3):
        uuid = await system.offline.server.identify("security_group", fq_name(f"blue:group-{number}"))
        await system.put(Key("security_group", uuid), None)
    report = await audited(system, guard=DeleteGuard(max_deletes=5, max_share=0.0))
    assert (report.differences, report.withheld) == ((), 6)


async def test_held_intents_are_counted_and_their_outputs_are_no_difference(system: ContrailSystem) -> None:
    await tenant(system)
    system.stop()
    uuid = await system.offline.server.identify("security_group", fq_name("blue:group-0"))
    await system.put(Key("security_group", uuid), b"{")
    report = await audited(system)
    assert (report.differences, report.held, report.problems) == ((), 1, 1)


async def test_the_audit_keeps_paused_outputs_and_deletes_dropped_ones(system: ContrailSystem) -> None:
    await tenant(system)
    system.stop()
    keys = [
        Key("security_group", await system.offline.server.identify("security_group", fq_name(f"blue:group-{number}")))
        for number in range(2)
    ]
    for key in keys:
        await system.offline.server.update(key, {"security_group_entries": rules()})
    assert len((await audited(system)).differences) == 2
    book = Book(system.offline.store, "default")
    await book.put(Pause(kind=keys[0].kind, uuid=keys[0].uuid))
    await book.put(Drop(kind=keys[1].kind, uuid=keys[1].uuid, mod_revision=await system.revision(keys[1])))
    report = await audited(system)
    assert report.held == 1
    assert set(differences(report)) == {
        f"access_control_list default-domain:blue:group-1:{direction}-access-control-list"
        for direction in ("egress", "ingress")
    }
    assert {change.operation for difference in report.differences for change in difference.operations} == {"delete"}


async def test_an_object_that_an_operator_paused_is_left_as_it_is(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:web", security_group_entries=OWN_RULES)
    system.stop()
    key = await list_key(system, "web")
    await system.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    name = ("default-domain", "blue", "web", "egress-access-control-list")
    await Book(system.offline.store, "default").put(Pause(kind=key.kind, uuid=key.uuid, name=name))
    report = await audited(system)
    assert (report.differences, report.held) == ((), 1)


async def test_an_older_revision_is_audited_as_it_stood(system: ContrailSystem) -> None:
    await system.create("security_group", "blue:web", security_group_entries=OWN_RULES)
    system.stop()
    key = await list_key(system, "web")
    await system.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    edited = await system.revision(key)
    now, then = await audited(system), await audited(system, revision=edited - 1)
    assert (now.revision, len(now.differences)) == (edited, 1)
    assert (then.revision, then.differences) == (edited - 1, ())


async def test_a_revision_that_is_compacted_can_not_be_audited(system: ContrailSystem) -> None:
    first = await system.revision(Key("project", await system.create("project", "green")))
    await system.create("project", "red")
    await system.offline.store.compact(first + 1)
    with pytest.raises(Compacted):
        await audited(system, revision=first)
