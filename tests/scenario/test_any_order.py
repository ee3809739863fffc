"""Whatever comes first: references before their targets, deletes, renames, and other objects of the same name."""

from __future__ import annotations

import pytest

from intentc.model import Create, Delete, Key, Update
from tests.support.contrail_system import ContrailSystem, rule, rules
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio


def group_ids(conditions: list[Document]) -> list[str]:
    """The groups that rules name as their destination."""
    return [condition["dst_address"]["security_group"] for condition in conditions]


async def test_a_group_named_before_its_creation_appears_once_it_exists(system: ContrailSystem) -> None:
    """The rule has no entry while the group is absent (docs/contrail.md ★18)."""
    await system.create("security_group", "blue:one", security_group_entries=rules(rule("local", "two")))
    assert await system.lists("blue:one") == {"ingress": [], "egress": []}
    await system.create("security_group", "blue:two", security_group_entries=rules(rule("one", "local")))
    two = (await system.stored("security_group"))["default-domain:blue:two"]["security_group_id"]
    assert group_ids((await system.lists("blue:one"))["egress"]) == [str(two)]
    assert len((await system.lists("blue:two"))["ingress"]) == 1


async def test_a_group_that_goes_leaves_the_rules_that_name_it(system: ContrailSystem) -> None:
    """The deleted group disappears from the other's lists (docs/contrail.md ★8, ★18)."""
    await system.create("security_group", "blue:two")
    await system.create("security_group", "blue:one", security_group_entries=rules(rule("local", "two")))
    assert len((await system.lists("blue:one"))["egress"]) == 1
    await system.remove("security_group", "blue:two")
    assert await system.lists("blue:two") == {}
    assert await system.lists("blue:one") == {"ingress": [], "egress": []}


async def joined(system: ContrailSystem) -> None:
    """A network with an interface, and a router with that and a configured target."""
    await system.create("virtual_network", "blue:net")
    await system.create(
        "virtual_machine_interface", "blue:port", parent_type="project", virtual_network_refs=[ref("net")]
    )
    await system.create(
        "logical_router",
        "blue:router",
        configured_route_target_list={"route_target": ["target:1:1"]},
        virtual_machine_interface_refs=[ref("port")],
    )


def ref(name: str) -> dict[str, list[str]]:
    return {"to": ["default-domain", "blue", name]}


async def test_references_are_dropped_before_what_they_name_is_deleted(system: ContrailSystem) -> None:
    """Otherwise the server would reject the deletes (docs/engine.md §6.4)."""
    await joined(system)
    system.forget()
    await system.remove("logical_router", "blue:router")
    kinds = [type(operation) for operation in system.write.written]
    assert kinds.count(Delete) == 2  # its own target and the configured one, each once and none rejected
    assert kinds.index(Update) < kinds.index(Delete)
    assert system.problems == {}


async def test_targets_are_made_before_what_refers_to_them(system: ContrailSystem) -> None:
    await joined(system)
    made: set[Key] = set()
    referred = 0
    for operation in system.write.written:
        if isinstance(operation, Create):
            made.add(operation.key)
        elif isinstance(operation, Update):
            targets = {entry.key for entry in operation.references.get("route_target", ())}
            assert targets <= made
            referred += len(targets)
    assert referred >= 3


async def test_the_parts_of_a_world_may_go_in_any_order(system: ContrailSystem) -> None:
    before = set(await system.owned())
    await joined(system)
    await system.change("logical_router", "blue:router", virtual_machine_interface_refs=[])
    await system.remove("virtual_machine_interface", "blue:port")
    await system.remove("virtual_network", "blue:net")
    await system.remove("logical_router", "blue:router")
    assert set(await system.owned()) == before
    assert system.problems == {}


async def test_a_renamed_router_keeps_its_number(system: ContrailSystem) -> None:
    """The owner of a number is the uuid, not the name (docs/engine.md §8)."""
    uuid = await system.create("logical_router", "blue:router")
    before = await system.targets("logical_router", "blue:router")
    stored = (await system.stored("logical_router"))["default-domain:blue:router"]
    system.forget()
    await system.put(Key("logical_router", uuid), stored | {"fq_name": ["default-domain", "blue", "renamed"]})
    assert await system.targets("logical_router", "blue:renamed") == before
    assert system.write.calls == 0
    assert uuid in await system.numbers()


async def test_a_renamed_group_gets_its_lists_under_the_new_name(system: ContrailSystem) -> None:
    uuid = await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "all")))
    stored = (await system.stored("security_group"))["default-domain:blue:web"]
    await system.put(Key("security_group", uuid), stored | {"fq_name": ["default-domain", "blue", "site"]})
    assert await system.lists("blue:web") == {}
    lists = await system.lists("blue:site")
    assert (len(lists["ingress"]), len(lists["egress"])) == (0, 1)


async def test_a_group_recreated_in_one_transaction_gets_its_own_lists(
    system: ContrailSystem,
) -> None:
    """F13"""
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "all")))
    before = {name: acl["uuid"] for name, acl in (await system.stored("access_control_list")).items()}
    uuid = "11111111-1111-4111-8111-111111111111"
    await system.transact(
        ("DELETE", "security_group", "blue:web", {}),
        ("CREATE", "security_group", "blue:web", {"uuid": uuid, "security_group_entries": rules(rule("all", "local"))}),
    )
    after = await system.stored("access_control_list")
    mine = {name: acl for name, acl in after.items() if name.startswith("default-domain:blue:web:")}
    assert {acl["parent_uuid"] for acl in mine.values()} == {uuid}
    assert {acl["uuid"] for acl in mine.values()}.isdisjoint(before.values())
    lists = await system.lists("blue:web")
    assert (len(lists["ingress"]), len(lists["egress"])) == (1, 0)


async def test_the_older_of_two_objects_with_one_name_counts_and_the_other_is_held(system: ContrailSystem) -> None:
    """The problem names the younger one (docs/engine.md §2.4)."""
    older = await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "all")))
    document = (await system.stored("security_group"))["default-domain:blue:web"]
    younger = "22222222-2222-4222-8222-222222222222"
    await system.put(Key("security_group", younger), document | {"uuid": younger, "security_group_entries": rules()})
    assert len((await system.lists("blue:web"))["egress"]) == 1
    (message,) = system.problems.values()
    assert younger in message
    assert older in message

    await system.put(Key("security_group", older), None)
    assert system.named("security_group", "blue:web") == Key("security_group", younger)
    assert await system.lists("blue:web") == {"ingress": [], "egress": []}
    parents = {acl["parent_uuid"] for acl in (await system.stored("access_control_list")).values()}
    assert younger in parents and older not in parents
