"""A restart is the same path as any event; in a converged world it writes nothing (docs/engine.md §10)."""

from __future__ import annotations

import pytest

from intentc.model import Delete, Key
from tests.support.contrail_system import ContrailSystem, rule, rules

pytestmark = pytest.mark.anyio

GROUPS = 8
NETWORKS = 5


def ref(name: str) -> dict[str, list[str]]:
    return {"to": ["default-domain", "blue", name]}


async def tenant(system: ContrailSystem) -> None:
    """Groups that name each other, networks with lists, and a router that joins two of them."""
    for number in range(GROUPS):
        other = f"group-{(number + 1) % GROUPS}"
        await system.create(
            "security_group",
            f"blue:group-{number}",
            security_group_entries=rules(rule("local", other), rule(other, "local")),
        )
    for number in range(NETWORKS):
        await system.create(
            "virtual_network",
            f"blue:net-{number}",
            route_target_list={"route_target": ["target:1:1", f"target:2:{number}"]},
        )
    for number in range(2):
        await system.create(
            "virtual_machine_interface",
            f"blue:port-{number}",
            parent_type="project",
            virtual_network_refs=[ref(f"net-{number}")],
        )
    await system.create(
        "logical_router",
        "blue:router",
        configured_route_target_list={"route_target": ["target:1:1", "target:3:3"]},
        virtual_machine_interface_refs=[ref("port-0"), ref("port-1")],
    )


@pytest.fixture
async def converged(system: ContrailSystem) -> ContrailSystem:
    await tenant(system)
    assert system.problems == {}
    assert len(await system.owned()) >= 20
    return system


async def test_a_restart_in_a_converged_world_writes_nothing(converged: ContrailSystem) -> None:
    """The second engine finds all of its objects as it wants them (docs/contrail.md ★17)."""
    before, numbers = await converged.owned(), await converged.numbers()
    again = await converged.restart()
    assert again.write.calls == 0
    assert (await again.owned(), await again.numbers()) == (before, numbers)

    # The second engine is at work nevertheless:
    await again.remove("access_control_list", "blue:group-0:egress-access-control-list")
    assert len(again.write.written) == 1
    assert await again.owned() == before


async def test_a_further_pass_of_the_same_engine_writes_nothing(converged: ContrailSystem) -> None:
    converged.forget()
    await converged.put(Key("project", "44444444-4444-4444-8444-444444444444"), {"fq_name": ["default-domain", "red"]})
    assert converged.write.calls == 0


async def test_what_was_deleted_while_nobody_compiled_leaves_nothing_behind(converged: ContrailSystem) -> None:
    """The next engine deletes the outputs and frees the numbers (docs/contrail.md ★16)."""
    converged.stop()
    uuid = await converged.offline.server.identify("logical_router", ["default-domain", "blue", "router"])
    assert uuid in await converged.numbers()
    await converged.remove("logical_router", "blue:router")
    await converged.remove("security_group", "blue:group-0")
    await converged.remove("virtual_network", "blue:net-4")
    again = await converged.restart()
    assert await again.lists("blue:group-0") == {}
    assert uuid not in await again.numbers()
    stored = await again.stored("route_target")
    assert "target:2:4" not in stored and "target:3:3" not in stored and "target:2:3" in stored
    left = {key.uuid for key in await again.owned()}
    assert len(left) >= 20
    assert set(again.problems) == {"UnknownSecurityGroup"}  # others name the one that is gone


async def test_what_changed_while_nobody_compiled_is_brought_up_to_date(converged: ContrailSystem) -> None:
    converged.stop()
    await converged.change("security_group", "blue:group-1", security_group_entries=rules())
    await converged.remove("access_control_list", "blue:group-2:ingress-access-control-list")
    await converged.create("security_group", "blue:new", security_group_entries=rules(rule("all", "local")))
    again = await converged.restart()
    assert await again.lists("blue:group-1") == {"ingress": [], "egress": []}
    assert len((await again.lists("blue:group-2"))["ingress"]) == 1
    assert len((await again.lists("blue:new"))["ingress"]) == 1
    assert len(again.write.written) == 2 + 1 + 2


async def test_a_number_outlives_restarts_and_a_new_owner_never_gets_it(converged: ContrailSystem) -> None:
    before = await converged.numbers()
    again = await converged.restart()
    uuid = await again.create("logical_router", "blue:second")
    after = await again.numbers()
    assert {owner: after[owner] for owner in before} == before
    assert after[uuid] not in before.values()


async def test_a_pass_that_would_delete_very_many_is_held(system: ContrailSystem) -> None:
    """docs/engine.md §5.7: whatever made so many owners vanish may be a mistake."""
    for number in range(30):
        await system.create("security_group", f"blue:group-{number}")
    system.stop()
    for number in range(30):
        await system.remove("security_group", f"blue:group-{number}")
    again = await system.restart()
    assert not [operation for operation in again.write.written if isinstance(operation, Delete)]
    assert "allow-deletes" in again.problems["DeletesHeld"]


async def test_an_unreadable_owner_keeps_its_outputs_over_a_restart(converged: ContrailSystem) -> None:
    """What can't be read is held: its lists stay as they are (docs/engine.md §7)."""
    uuid = await converged.create("security_group", "blue:alone", security_group_entries=rules(rule("all", "local")))
    lists = await converged.lists("blue:alone")
    await converged.put(Key("security_group", uuid), b"[")
    again = await converged.restart()
    assert again.write.calls == 0
    assert await again.lists("blue:alone") == lists
