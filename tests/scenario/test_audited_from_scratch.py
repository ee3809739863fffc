"""A compile from scratch beside what is there: each kind of difference is told, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.directives import Book, Drop, Pause
from intentc.model import Key
from intentc.offline.audit import Difference, Report, audit
from intentc.planning import DeleteGuard
from intentc.watch.protocol import Compacted
from tests.support.memory_system import MemorySystem, fq_name, rule, rules

pytestmark = pytest.mark.anyio

MANY = 20
OWN_RULES = rules(rule("local", "all"))


async def audited(scene: MemorySystem, **options: Any) -> Report:
    """An audit of the scene's store."""
    offline = scene.offline
    return await audit(scene.plugins, offline.store, offline.local, path="contrail", installation="default", **options)


async def tenant(scene: MemorySystem) -> None:
    """Groups, networks and a router: more than twenty objects of ours."""
    for number in range(8):
        await scene.apply("security_group", f"blue:group-{number}", security_group_entries=OWN_RULES)
    for number in range(4):
        await scene.apply("virtual_network", f"blue:net-{number}")
    await scene.apply("logical_router", "blue:router")


async def list_key(scene: MemorySystem, group: str) -> Key:
    """The egress list of a group."""
    document = (await scene.stored("access_control_list"))[f"default-domain:blue:{group}:egress-access-control-list"]
    return Key("access_control_list", document["uuid"])


def told(report: Report) -> dict[str, list[str]]:
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


async def test_a_converged_world_does_not_differ(scene: MemorySystem) -> None:
    await tenant(scene)
    report = await audited(scene)
    assert (report.differences, report.held, report.withheld, report.problems) == ((), 0, 0, 0)
    assert report.owned == len(await scene.owned()) >= MANY
    assert report.resources > report.owned
    assert report.revision >= report.last_change > 0


async def test_an_object_that_somebody_edited_is_told_with_the_fields_and_the_intent(scene: MemorySystem) -> None:
    uuid = await scene.apply("security_group", "blue:web", security_group_entries=OWN_RULES)
    scene.stop()
    key = await list_key(scene, "web")
    await scene.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    report = await audited(scene)
    difference = only(report)
    assert told(report) == {
        "access_control_list default-domain:blue:web:egress-access-control-list": ["update access_control_list_entries"]
    }
    assert difference.origins == (f"security_group/{uuid}",)
    assert difference.revision == await scene.revision(key) == report.last_change


async def test_a_missing_object_is_told(scene: MemorySystem) -> None:
    await scene.apply("security_group", "blue:web", security_group_entries=OWN_RULES)
    scene.stop()
    await scene.put(await list_key(scene, "web"), None)
    report = await audited(scene)
    assert told(report) == {
        "access_control_list default-domain:blue:web:egress-access-control-list": ["create access_control_list_entries"]
    }
    assert only(report).revision == 0


async def test_what_was_left_behind_is_told_as_a_delete(scene: MemorySystem) -> None:
    await scene.apply("security_group", "blue:web", security_group_entries=OWN_RULES)
    scene.stop()
    await scene.put(
        Key("security_group", await scene.offline.server.identify("security_group", fq_name("blue:web"))), None
    )
    report = await audited(scene)
    assert told(report) == {
        f"access_control_list default-domain:blue:web:{direction}-access-control-list": ["delete"]
        for direction in ("egress", "ingress")
    }


async def test_a_reference_that_is_gone_is_told_by_its_relation_and_a_stranger_is_not_told(scene: MemorySystem) -> None:
    await scene.apply("virtual_network", "blue:net")
    scene.stop()
    instance = await scene.offline.server.identify("routing_instance", fq_name("blue:net:net"))
    await scene.offline.server.update(Key("routing_instance", instance), {"route_target_refs": []})
    await scene.apply("route_target", "target:1:1")
    assert told(await audited(scene)) == {"routing_instance default-domain:blue:net:net": ["update route_target_refs"]}


async def test_a_number_that_is_not_given_yet_shows_in_its_place_and_is_not_given(scene: MemorySystem) -> None:
    scene.stop()
    await scene.apply("logical_router", "blue:router")
    numbers = await scene.numbers()
    assert told(await audited(scene)) == {
        "logical_router default-domain:blue:router": ["allocate <route_target_number for default-domain:blue:router>"]
    }
    assert await scene.numbers() == numbers


async def test_nothing_is_written_and_the_same_world_gives_the_same_bytes(scene: MemorySystem) -> None:
    await tenant(scene)
    scene.stop()
    for number in range(8):
        await scene.put(await list_key(scene, f"group-{number}"), None)
    before = (await scene.offline.store.range("/", "0")).items
    first, second = [msgspec.structs.replace(await audited(scene), seconds=0.0) for _ in range(2)]
    assert len(first.differences) == 8
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
    assert (await scene.offline.store.range("/", "0")).items == before


async def test_no_value_of_a_field_gets_into_the_report(scene: MemorySystem) -> None:
    canary = rule("local", "all", rule_uuid="00000000-0000-4000-8000-0000000ca9a7")
    scene.stop()
    await scene.apply("security_group", "blue:web", security_group_entries=rules(canary))
    text = msgspec.json.encode(await audited(scene)).decode()
    assert "access_control_list_entries" in text
    assert "ca9a7" not in text
    assert "0.0.0.0" not in text


async def test_deletes_without_leave_are_withheld_and_no_differences(scene: MemorySystem) -> None:
    await tenant(scene)
    scene.stop()
    for number in range(3):
        uuid = await scene.offline.server.identify("security_group", fq_name(f"blue:group-{number}"))
        await scene.put(Key("security_group", uuid), None)
    report = await audited(scene, guard=DeleteGuard(max_deletes=5, max_share=0.0))
    assert (report.differences, report.withheld) == ((), 6)


async def test_what_is_held_is_counted_and_what_it_made_is_no_difference(scene: MemorySystem) -> None:
    await tenant(scene)
    scene.stop()
    uuid = await scene.offline.server.identify("security_group", fq_name("blue:group-0"))
    await scene.put(Key("security_group", uuid), b"{")
    report = await audited(scene)
    assert (report.differences, report.held, report.problems) == ((), 1, 1)


async def test_what_an_operator_paused_is_held_and_what_he_dropped_should_go(scene: MemorySystem) -> None:
    await tenant(scene)
    scene.stop()
    keys = [
        Key("security_group", await scene.offline.server.identify("security_group", fq_name(f"blue:group-{number}")))
        for number in range(2)
    ]
    for key in keys:
        await scene.offline.server.update(key, {"security_group_entries": rules()})
    assert len((await audited(scene)).differences) == 2
    book = Book(scene.offline.store, "default")
    await book.put(Pause(kind=keys[0].kind, uuid=keys[0].uuid))
    await book.put(Drop(kind=keys[1].kind, uuid=keys[1].uuid, mod_revision=await scene.revision(keys[1])))
    report = await audited(scene)
    assert report.held == 1
    assert set(told(report)) == {
        f"access_control_list default-domain:blue:group-1:{direction}-access-control-list"
        for direction in ("egress", "ingress")
    }
    assert {change.operation for difference in report.differences for change in difference.operations} == {"delete"}


async def test_an_object_that_an_operator_paused_is_left_as_it_is(scene: MemorySystem) -> None:
    await scene.apply("security_group", "blue:web", security_group_entries=OWN_RULES)
    scene.stop()
    key = await list_key(scene, "web")
    await scene.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    name = ("default-domain", "blue", "web", "egress-access-control-list")
    await Book(scene.offline.store, "default").put(Pause(kind=key.kind, uuid=key.uuid, name=name))
    report = await audited(scene)
    assert (report.differences, report.held) == ((), 1)


async def test_an_older_revision_is_audited_as_it_stood(scene: MemorySystem) -> None:
    await scene.apply("security_group", "blue:web", security_group_entries=OWN_RULES)
    scene.stop()
    key = await list_key(scene, "web")
    await scene.offline.server.update(key, {"access_control_list_entries": {"acl_rule": []}})
    edited = await scene.revision(key)
    now, then = await audited(scene), await audited(scene, revision=edited - 1)
    assert (now.revision, len(now.differences)) == (edited, 1)
    assert (then.revision, then.differences) == (edited - 1, ())


async def test_a_revision_that_is_compacted_can_not_be_audited(scene: MemorySystem) -> None:
    first = await scene.revision(Key("project", await scene.apply("project", "green")))
    await scene.apply("project", "red")
    await scene.offline.store.compact(first + 1)
    with pytest.raises(Compacted):
        await audited(scene, revision=first)
