"""What is ours is kept true, what isn't is never touched, and what can't be read keeps its outputs."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key, Mark
from tests.support.memory_system import MemorySystem, rule, rules

pytestmark = pytest.mark.anyio

LIST = "blue:web:ingress-access-control-list"
FULL = f"default-domain:{LIST}"


async def with_group(scene: MemorySystem) -> str:
    """The group ``web`` with one ingress rule; its uuid."""
    return await scene.apply("security_group", "blue:web", security_group_entries=rules(rule("all", "local")))


def entries(*found: dict[str, Any]) -> dict[str, Any]:
    return {"access_control_list_entries": {"acl_rule": list(found)}}


async def test_what_is_malformed_keeps_its_outputs_and_holds_up_nobody_else(scene: MemorySystem) -> None:
    key = Key("security_group", await with_group(scene))
    before = await scene.lists("blue:web")
    scene.forget()
    await scene.put(key, b'{"fq_name": [')
    assert scene.calls.calls == 0
    assert await scene.lists("blue:web") == before
    assert str(key) in str(scene.offline.problems())
    await scene.apply("security_group", "blue:other", security_group_entries=rules(rule("local", "all")))
    assert len((await scene.lists("blue:other"))["egress"]) == 1


async def test_what_was_malformed_is_compiled_again_once_it_is_mended(scene: MemorySystem) -> None:
    key = Key("security_group", await with_group(scene))
    document = (await scene.stored("security_group"))["default-domain:blue:web"]
    await scene.put(key, b'{"fq_name": [')
    await scene.put(key, document | {"security_group_entries": rules(rule("local", "all"))})
    lists = await scene.lists("blue:web")
    assert (len(lists["ingress"]), len(lists["egress"])) == (0, 1)
    assert scene.problems == {}


async def test_what_is_malformed_and_then_deleted_takes_its_outputs_with_it(scene: MemorySystem) -> None:
    key = Key("security_group", await with_group(scene))
    await scene.put(key, b"{")
    await scene.put(key, None)
    assert await scene.lists("blue:web") == {}
    assert scene.problems == {}


async def below_blue(scene: MemorySystem) -> dict[str, Any]:
    lists = await scene.stored("access_control_list")
    return {name: found for name, found in lists.items() if name.startswith("default-domain:blue:")}


async def foreign_list(scene: MemorySystem, name: str = LIST, **fields: Any) -> dict[str, Any]:
    """The group ``web``, and in the same transaction a list below it that somebody else makes; that list."""
    await scene.transact(
        ("CREATE", "security_group", "blue:web", {"security_group_entries": rules(rule("all", "local"))}),
        ("CREATE", "access_control_list", name, {"parent_type": "security-group", **fields}),
    )
    return (await scene.stored("access_control_list"))[f"default-domain:{name}"]


async def test_a_list_without_mark_at_a_claimed_name_is_adopted_and_goes_with_its_group(scene: MemorySystem) -> None:
    """docs/engine.md §5.6: lists are made by compilers alone, so it comes from a former one."""
    uuid = "55555555-5555-4555-8555-555555555555"
    adopted = await foreign_list(scene, uuid=uuid)
    assert adopted["uuid"] == uuid
    assert len((await scene.lists("blue:web"))["ingress"]) == 1
    assert scene.problems == {}
    await scene.remove("security_group", "blue:web")
    assert await below_blue(scene) == {}


async def test_a_users_list_under_a_name_of_its_own_is_left_alone(scene: MemorySystem) -> None:
    theirs = await foreign_list(scene, "blue:web:mine", **entries())
    await scene.remove("security_group", "blue:web")
    assert await below_blue(scene) == {"default-domain:blue:web:mine": theirs}


NEXT, NEXT_BUT_ONE = "target:64512:8000102", "target:64512:8000103"
"""The route targets of the next objects that need one: the seeded networks have two."""
THEIRS: dict[str, Any] = {"uuid": "44444444-4444-4444-8444-444444444444", "fq_name": [NEXT]}
"""One that a user made, which only a server of an older version takes."""


async def test_a_users_object_at_a_name_that_we_need_is_reported_and_left_alone(scene: MemorySystem) -> None:
    await scene.put(Key("route_target", THEIRS["uuid"]), THEIRS)
    scene.forget()
    await scene.apply("virtual_network", "blue:net")
    assert NEXT in scene.problems["RouteTargetTaken"]
    assert (await scene.stored("route_target"))[NEXT] == THEIRS
    assert list(await scene.targets("routing_instance", "blue:net:net")) == [NEXT_BUT_ONE]
    ledger = await scene.offline.local.all_allocations("default/")
    assert sorted(value for _, _, value in ledger)[-2:] == [8000102, 8000103]


async def test_ours_is_made_once_the_users_is_out_of_the_way(scene: MemorySystem) -> None:
    await scene.put(Key("route_target", THEIRS["uuid"]), THEIRS)
    await scene.apply("virtual_network", "blue:net")
    await scene.put(Key("route_target", THEIRS["uuid"]), None)
    assert (await scene.stored("route_target"))[NEXT]["uuid"] != THEIRS["uuid"]
    assert NEXT_BUT_ONE not in await scene.stored("route_target")
    assert max((await scene.numbers()).values()) == 8000102
    assert list(await scene.targets("routing_instance", "blue:net:net")) == [NEXT]
    assert scene.problems == {}


async def test_a_copy_that_carries_our_mark_is_reported_and_left_alone(scene: MemorySystem) -> None:
    uuid = "33333333-3333-4333-8333-333333333333"
    mark = Mark("default", "contrail", uuid)
    annotations = {"key_value_pair": [{"key": "intentc", "value": str(mark)}]}
    copy = await foreign_list(scene, annotations=annotations)
    assert copy["uuid"] in scene.problems["Copy"]
    scene.forget()
    await scene.change("security_group", "blue:web", security_group_entries=rules())
    assert (await scene.stored("access_control_list"))[FULL] == copy
    assert [operation.key.uuid for operation in scene.calls.written if operation.key.uuid == copy["uuid"]] == []


async def test_what_somebody_changes_of_ours_is_put_right(scene: MemorySystem) -> None:
    """F19"""
    await with_group(scene)
    before = await scene.lists("blue:web")
    scene.forget()
    await scene.change("access_control_list", LIST, **entries())
    assert await scene.lists("blue:web") == before
    assert scene.calls.calls == 1


async def test_what_somebody_deletes_of_ours_is_made_again(scene: MemorySystem) -> None:
    """F19"""
    await with_group(scene)
    before = (await scene.stored("access_control_list"))[FULL]
    scene.forget()
    await scene.remove("access_control_list", LIST)
    after = (await scene.stored("access_control_list"))[FULL]
    assert after["uuid"] == before["uuid"]
    assert scene.calls.calls == 1


async def test_what_somebody_adds_to_a_field_that_is_ours_is_taken_away(scene: MemorySystem) -> None:
    await scene.apply("virtual_network", "blue:net")
    before = await scene.targets("routing_instance", "blue:net:net")
    await scene.apply("route_target", "target:9:9")
    await scene.change(
        "routing_instance", "blue:net:net", route_target_refs=[{"to": [t]} for t in [*before, "target:9:9"]]
    )
    assert await scene.targets("routing_instance", "blue:net:net") == before


async def test_what_somebody_adds_beside_our_fields_stays(scene: MemorySystem) -> None:
    await with_group(scene)
    scene.forget()
    await scene.change("access_control_list", LIST, display_name="mine")
    assert (await scene.stored("access_control_list"))[FULL]["display_name"] == "mine"
    assert scene.calls.calls == 0


async def test_a_users_route_target_is_adopted_without_a_write_and_outlives_us(scene: MemorySystem) -> None:
    """docs/engine.md §5.6"""
    uuid = await scene.apply("route_target", "target:1:1")
    revision = await scene.revision(Key("route_target", uuid))
    await scene.apply("virtual_network", "blue:net", route_target_list={"route_target": ["target:1:1"]})
    assert "target:1:1" in await scene.targets("routing_instance", "blue:net:net")
    assert await scene.revision(Key("route_target", uuid)) == revision
    assert scene.problems == {}


async def test_a_users_reference_in_a_shared_list_is_no_business_of_ours(scene: MemorySystem) -> None:
    """docs/engine.md §5.1: a route target that a user lets a router refer to is input; ours goes, theirs stays."""
    await scene.apply("route_target", "target:1:1")
    await scene.apply("logical_router", "blue:router")
    (ours,) = await scene.targets("logical_router", "blue:router")
    await scene.change("logical_router", "blue:router", route_target_refs=[{"to": [ours]}, {"to": ["target:1:1"]}])
    assert list(await scene.targets("logical_router", "blue:router")) == ["target:1:1"]
    assert ours not in await scene.stored("route_target")
