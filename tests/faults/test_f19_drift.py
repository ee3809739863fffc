"""F19: people edit and delete what compilers made, and make things that look like it. Ours is repaired and journalled
as drift, theirs is not touched."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from intentc.journal import Write
from intentc.service.service import CompilerService
from tests.faults.faulty_system import FaultySystem
from tests.faults.scale_writing import SCALE
from tests.faults.writing_load import many_groups
from tests.oracle.contrail import mark
from tests.support.contrail_content import tenant
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

NOTHING: dict[str, Any] = {"acl_rule": []}


async def meddle(world: LiveSystem, edited: int, deleted: int) -> set[tuple[str, ...]]:
    """Empty so many lists of compilers, delete so many others, take a target from each instance; their names."""
    lists = sorted((await world.stored())["access_control_list"].items())
    ours = [(uuid, tuple(found["fq_name"])) for uuid, found in lists if mark(found) and has_rules(found)]
    assert len(ours) >= edited + deleted
    for uuid, _ in ours[:edited]:
        await world.update("access_control_list", uuid, access_control_list_entries=NOTHING)
    for uuid, _ in ours[edited : edited + deleted]:
        await world.delete("access_control_list", uuid)
    touched = {name for _, name in ours[: edited + deleted]}
    for uuid, found in sorted((await world.stored())["routing_instance"].items()):
        if found["fq_name"][-1].startswith("network-"):
            await world.update("routing_instance", uuid, route_target_refs=found["route_target_refs"][1:])
            touched.add(tuple(found["fq_name"]))
    return touched


def has_rules(found: dict[str, Any]) -> bool:
    return bool((found.get("access_control_list_entries") or {}).get("acl_rule"))


async def look_alikes(world: LiveSystem, count: int) -> dict[str, str]:
    """Objects that aren't ours: copies with our mark, and neighbours of similar names without; uuid → kind."""
    lists = [found for found in (await world.stored())["access_control_list"].values() if mark(found)]
    made = {}
    for number, found in enumerate(lists[: count // 2]):
        parent = tuple(found["fq_name"][:-1])
        common = {"parent_type": found["parent_type"], "access_control_list_entries": NOTHING}
        copied = {**common, "annotations": found["annotations"]}
        made[await world.create("access_control_list", f"copy-{number}", parent, **copied)] = "access_control_list"
        similar = f"{found['fq_name'][-1]}-{number}"
        made[await world.create("access_control_list", similar, parent, **common)] = "access_control_list"
    made[await world.create("route_target", "target:64512:7999999", ())] = "route_target"
    return made


async def as_they_are(world: LiveSystem, made: dict[str, str]) -> dict[str, Any]:
    values = await world.values()
    return {uuid: values[f"/{world.path}/{kind}/{uuid}"] for uuid, kind in made.items()}


def repairs(service: CompilerService) -> Counter[tuple[str, ...]]:
    """Objects of which a write was journalled as drift."""
    lines = service.engine.journal
    return Counter(line.name.fq_name for line in lines if isinstance(line, Write) and line.drift)


async def test_drift_is_repaired_and_journalled_and_foreign_objects_are_left_alone(faulty: FaultySystem) -> None:
    async with faulty.compiling() as service:
        await tenant(faulty)
        await many_groups(faulty, SCALE.groups)
        await faulty.settle(service)
        assert not repairs(service)
        made = await look_alikes(faulty, 20)
        assert len(made) > 20
        await faulty.settle(service)
        before = await as_they_are(faulty, made)

        touched = await meddle(faulty, SCALE.drifted, SCALE.drifted // 2)
        await faulty.settle(service)
        assert repairs(service).keys() == touched
        assert service.status()["counters"]["drift_repairs"] >= len(touched)
        assert service.status()["counters"]["contentions"] == 0
        assert await as_they_are(faulty, made) == before
    await faulty.compile_once()
    assert await as_they_are(faulty, made) == before
    for uuid, kind in made.items():
        await faulty.delete(kind, uuid)
    await faulty.check()


async def test_what_users_ask_for_is_no_drift(faulty: FaultySystem) -> None:
    """An object that differs because its intent changed, came or went is not called drift."""
    async with faulty.compiling() as service:
        made = await tenant(faulty)
        await faulty.settle(service)
        for uuid in made["security_group"]:
            await faulty.update("security_group", uuid, security_group_entries={"policy_rule": []})
        await faulty.update("virtual_network", made["virtual_network"][0], route_target_list={"route_target": []})
        await faulty.delete("security_group", made["security_group"][0])
        await many_groups(faulty, 10)
        await faulty.settle(service)
        assert service.status()["counters"]["writes"] >= 20
        assert not repairs(service)
    await faulty.check()


async def test_drift_of_a_time_without_a_compiler_is_repaired_at_its_start(faulty: FaultySystem) -> None:
    async with faulty.compiling() as service:
        await tenant(faulty)
        await many_groups(faulty, SCALE.groups)
        await faulty.settle(service)
    made = await look_alikes(faulty, 20)
    before = await as_they_are(faulty, made)
    touched = await meddle(faulty, SCALE.drifted, SCALE.drifted // 2)
    faulty.calls.seen.clear()
    await faulty.compile_once()
    assert 1 <= sum(faulty.calls.mutations.values()) <= 4 * len(touched)
    assert await as_they_are(faulty, made) == before
    for uuid, kind in made.items():
        await faulty.delete(kind, uuid)
    await faulty.check()


async def test_a_foreign_list_with_our_name_is_adopted_without_a_write(faulty: FaultySystem) -> None:
    """Such as an older compiler left: one that is right stays as it is, to its revision; when it goes, ours comes."""
    await faulty.create("security_group", "taken")
    name = "ingress-access-control-list"
    theirs = await faulty.create("access_control_list", name, (*PROJECT, "taken"), parent_type="security-group")
    await tenant(faulty)
    before = await as_they_are(faulty, {theirs: "access_control_list"})
    async with faulty.compiling() as service:
        await faulty.settle(service)
        assert await as_they_are(faulty, {theirs: "access_control_list"}) == before
        assert service.status()["healthy"] is True
        await faulty.assert_compiled()
        await faulty.delete("access_control_list", theirs)
        await faulty.settle(service)
        lists = (await faulty.stored())["access_control_list"]
        assert theirs not in lists
        (ours,) = (found for found in lists.values() if found["fq_name"][-2:] == ["taken", name])
        assert mark(ours) is not None
    await faulty.check()
