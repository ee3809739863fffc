"""What is ours is kept true, what isn't is never touched, and what can't be read keeps its outputs."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key, Mark
from tests.support.contrail_system import ContrailSystem, rule, rules

pytestmark = pytest.mark.anyio

LIST = "blue:web:ingress-access-control-list"
FULL = f"default-domain:{LIST}"


async def with_group(system: ContrailSystem) -> str:
    """The group ``web`` with one ingress rule; its uuid."""
    return await system.create("security_group", "blue:web", security_group_entries=rules(rule("all", "local")))


def entries(*found: dict[str, Any]) -> dict[str, Any]:
    return {"access_control_list_entries": {"acl_rule": list(found)}}


async def test_a_malformed_resource_keeps_its_outputs_and_delays_no_other(system: ContrailSystem) -> None:
    key = Key("security_group", await with_group(system))
    before = await system.lists("blue:web")
    system.forget()
    await system.put(key, b'{"fq_name": [')
    assert system.write.calls == 0
    assert await system.lists("blue:web") == before
    assert str(key) in str(system.offline.problems())
    await system.create("security_group", "blue:other", security_group_entries=rules(rule("local", "all")))
    assert len((await system.lists("blue:other"))["egress"]) == 1


async def test_what_was_malformed_is_compiled_again_once_it_is_repaired(system: ContrailSystem) -> None:
    key = Key("security_group", await with_group(system))
    document = (await system.stored("security_group"))["default-domain:blue:web"]
    await system.put(key, b'{"fq_name": [')
    await system.put(key, document | {"security_group_entries": rules(rule("local", "all"))})
    lists = await system.lists("blue:web")
    assert (len(lists["ingress"]), len(lists["egress"])) == (0, 1)
    assert system.problems == {}


async def test_deleting_a_malformed_resource_deletes_its_outputs(system: ContrailSystem) -> None:
    key = Key("security_group", await with_group(system))
    await system.put(key, b"{")
    await system.put(key, None)
    assert await system.lists("blue:web") == {}
    assert system.problems == {}


async def below_blue(system: ContrailSystem) -> dict[str, Any]:
    lists = await system.stored("access_control_list")
    return {name: found for name, found in lists.items() if name.startswith("default-domain:blue:")}


async def foreign_list(system: ContrailSystem, name: str = LIST, **fields: Any) -> dict[str, Any]:
    """The group ``web``, and in the same transaction a list below it that somebody else makes; that list."""
    await system.transact(
        ("CREATE", "security_group", "blue:web", {"security_group_entries": rules(rule("all", "local"))}),
        ("CREATE", "access_control_list", name, {"parent_type": "security-group", **fields}),
    )
    return (await system.stored("access_control_list"))[f"default-domain:{name}"]


async def test_an_unmarked_list_with_a_claimed_name_is_adopted_and_deleted_with_its_group(
    system: ContrailSystem,
) -> None:
    """docs/engine.md §5.6: lists are made by compilers alone, so it comes from a former one."""
    uuid = "55555555-5555-4555-8555-555555555555"
    adopted = await foreign_list(system, uuid=uuid)
    assert adopted["uuid"] == uuid
    assert len((await system.lists("blue:web"))["ingress"]) == 1
    assert system.problems == {}
    await system.remove("security_group", "blue:web")
    assert await below_blue(system) == {}


async def test_after_a_release_lists_are_adopted_and_route_targets_are_taken_for_a_users(
    system: ContrailSystem,
) -> None:
    """docs/operating.md, "Removing intentc" """
    await with_group(system)
    await system.create("virtual_network", "blue:net", route_target_list={"route_target": ["target:7:7"]})
    owned = await system.owned()
    kinds = {key.kind for key in owned}
    system.stop()
    world = await system.world()
    for key in owned:
        await system.put(key, {**world[key.kind][key.uuid], "annotations": {"key_value_pair": []}})
    later = await system.restart()
    assert kinds == {"access_control_list", "route_target"}
    assert later.write.written == []
    assert {(p.reason, p.kind) for p in later.offline.problems()} == {("NameTaken", "routing_instance")}
    await later.remove("security_group", "blue:web")
    assert await below_blue(later) == {}
    assert later.write.written


async def test_a_users_list_under_a_name_of_its_own_is_left_alone(system: ContrailSystem) -> None:
    theirs = await foreign_list(system, "blue:web:mine", **entries())
    await system.remove("security_group", "blue:web")
    assert await below_blue(system) == {"default-domain:blue:web:mine": theirs}


NEXT, NEXT_BUT_ONE = "target:64512:8000102", "target:64512:8000103"
"""The route targets of the next objects that need one: the seeded networks have two."""
THEIRS: dict[str, Any] = {"uuid": "44444444-4444-4444-8444-444444444444", "fq_name": [NEXT]}
"""One that a user made, which only a server of an older version takes."""


async def test_a_users_object_with_a_name_that_we_need_is_reported_and_left_alone(system: ContrailSystem) -> None:
    await system.put(Key("route_target", THEIRS["uuid"]), THEIRS)
    system.forget()
    await system.create("virtual_network", "blue:net")
    assert NEXT in system.problems["RouteTargetTaken"]
    assert (await system.stored("route_target"))[NEXT] == THEIRS
    assert list(await system.targets("routing_instance", "blue:net:net")) == [NEXT_BUT_ONE]
    allocations = await system.offline.local.all_allocations("default/")
    assert sorted(value for _, _, value in allocations)[-2:] == [8000102, 8000103]


async def test_ours_is_made_once_the_users_is_out_of_the_way(system: ContrailSystem) -> None:
    await system.put(Key("route_target", THEIRS["uuid"]), THEIRS)
    await system.create("virtual_network", "blue:net")
    await system.put(Key("route_target", THEIRS["uuid"]), None)
    assert (await system.stored("route_target"))[NEXT]["uuid"] != THEIRS["uuid"]
    assert NEXT_BUT_ONE not in await system.stored("route_target")
    assert max((await system.numbers()).values()) == 8000102
    assert list(await system.targets("routing_instance", "blue:net:net")) == [NEXT]
    assert system.problems == {}


async def test_a_copy_that_carries_our_mark_is_reported_and_left_alone(system: ContrailSystem) -> None:
    uuid = "33333333-3333-4333-8333-333333333333"
    mark = Mark("default", "contrail", uuid)
    annotations = {"key_value_pair": [{"key": "intentc", "value": str(mark)}]}
    copy = await foreign_list(system, annotations=annotations)
    assert copy["uuid"] in system.problems["Copy"]
    system.forget()
    await system.change("security_group", "blue:web", security_group_entries=rules())
    assert (await system.stored("access_control_list"))[FULL] == copy
    assert [operation.key.uuid for operation in system.write.written if operation.key.uuid == copy["uuid"]] == []


async def test_what_somebody_changes_of_ours_is_repaired(system: ContrailSystem) -> None:
    """The engine writes its own value again, once."""
    await with_group(system)
    before = await system.lists("blue:web")
    system.forget()
    await system.change("access_control_list", LIST, **entries())
    assert await system.lists("blue:web") == before
    assert system.write.calls == 1


async def test_what_somebody_deletes_of_ours_is_made_again(system: ContrailSystem) -> None:
    """The engine writes its own value again, once."""
    await with_group(system)
    before = (await system.stored("access_control_list"))[FULL]
    system.forget()
    await system.remove("access_control_list", LIST)
    after = (await system.stored("access_control_list"))[FULL]
    assert after["uuid"] == before["uuid"]
    assert system.write.calls == 1


async def test_additions_of_others_to_our_fields_are_removed(system: ContrailSystem) -> None:
    await system.create("virtual_network", "blue:net")
    before = await system.targets("routing_instance", "blue:net:net")
    await system.create("route_target", "target:9:9")
    await system.change(
        "routing_instance", "blue:net:net", route_target_refs=[{"to": [t]} for t in [*before, "target:9:9"]]
    )
    assert await system.targets("routing_instance", "blue:net:net") == before


async def test_what_somebody_adds_beside_our_fields_stays(system: ContrailSystem) -> None:
    await with_group(system)
    system.forget()
    await system.change("access_control_list", LIST, display_name="mine")
    assert (await system.stored("access_control_list"))[FULL]["display_name"] == "mine"
    assert system.write.calls == 0


async def test_a_users_route_target_is_adopted_without_a_write_and_outlives_us(system: ContrailSystem) -> None:
    """It exists with the wanted content, so there is nothing to write (docs/engine.md §5.6)."""
    uuid = await system.create("route_target", "target:1:1")
    revision = await system.revision(Key("route_target", uuid))
    await system.create("virtual_network", "blue:net", route_target_list={"route_target": ["target:1:1"]})
    assert "target:1:1" in await system.targets("routing_instance", "blue:net:net")
    assert await system.revision(Key("route_target", uuid)) == revision
    assert system.problems == {}


async def test_a_users_reference_in_a_shared_list_is_no_business_of_ours(system: ContrailSystem) -> None:
    """docs/engine.md §5.1: a route target that a user lets a router refer to is input; ours goes, theirs stays."""
    await system.create("route_target", "target:1:1")
    await system.create("logical_router", "blue:router")
    (ours,) = await system.targets("logical_router", "blue:router")
    await system.change("logical_router", "blue:router", route_target_refs=[{"to": [ours]}, {"to": ["target:1:1"]}])
    assert list(await system.targets("logical_router", "blue:router")) == ["target:1:1"]
    assert ours not in await system.stored("route_target")


async def test_a_port_stays_in_the_instance_of_a_network_named_like_a_service(system: ContrailSystem) -> None:
    await system.create("virtual_network", "blue:service-net")
    network: dict[str, Any] = {"virtual_network_refs": [{"to": ["default-domain", "blue", "service-net"]}]}
    await system.create("virtual_machine_interface", "blue:port", parent_type="project", **network)

    async def instances() -> list[list[str]]:
        port = (await system.stored("virtual_machine_interface"))["default-domain:blue:port"]
        return [entry["to"] for entry in port["routing_instance_refs"]]

    own = [["default-domain", "blue", "service-net", "service-net"]]
    assert await instances() == own
    again = await system.restart()
    assert again.write.calls == 0
    assert await instances() == own
