"""Which resource a person means: fq_name, uuid, or a unique end; kinds in any spelling; near names otherwise."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from intentc.diagnostics.questions import Unanswerable
from intentc.inspection.finding import Found, find
from intentc.model import Key, Name
from intentc.reconcile.failures import Rejected
from intentc.watch.protocol import Put
from tests.support.box_system import BoxSystem, part
from tests.support.contrail_system import ContrailSystem

pytestmark = pytest.mark.anyio


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:web")
    await system.create("security_group", "blue:db")
    return system


async def found(system: ContrailSystem, kind: str, text: str) -> Found:
    return await find(system.offline.engine, kind, text)


@pytest.mark.parametrize("kind", ["security_group", "security-group", "SecurityGroup", "security_groups"])
@pytest.mark.parametrize("text", ["default-domain:blue:web", "blue:web", "web"])
async def test_a_resource_is_found_by_its_name_and_any_unique_end_of_it(
    system: ContrailSystem, kind: str, text: str
) -> None:
    key = system.named("security_group", "blue:web")
    assert await found(system, kind, text) == Found(Name("security_group", ("default-domain", "blue", "web")), key)


async def test_a_resource_is_found_by_its_uuid(system: ContrailSystem) -> None:
    key = system.named("security_group", "blue:web")
    assert key is not None
    assert (await found(system, "security_group", key.uuid)).key == key


async def test_an_end_is_one_of_whole_elements(system: ContrailSystem) -> None:
    assert (await found(system, "security_group", "eb")).key is None


async def test_an_end_that_fits_several_is_answered_with_them(system: ContrailSystem) -> None:
    with pytest.raises(Unanswerable) as raised:
        await found(system, "access_control_list", "ingress-access-control-list")
    assert raised.value.status == 409
    assert "default-domain:blue:web:ingress-access-control-list" in raised.value.candidates
    assert raised.value.next_step == "give more of the name, or the uuid"


@pytest.mark.parametrize(
    "kind, meant",
    [("security_grup", "security_group"), ("acl", "access_control_list"), ("control_lis", "access_control_list")],
)
async def test_an_unknown_kind_is_answered_with_the_nearest(system: ContrailSystem, kind: str, meant: str) -> None:
    with pytest.raises(Unanswerable) as raised:
        await found(system, kind, "web")
    assert (raised.value.status, raised.value.candidates[0]) == (404, meant)


async def test_a_name_is_needed(system: ContrailSystem) -> None:
    with pytest.raises(Unanswerable) as raised:
        await found(system, "security_group", "")
    assert raised.value.status == 400


async def test_a_name_that_nothing_has_comes_with_names_that_are_near(system: ContrailSystem) -> None:
    assert (await found(system, "security_group", "wen")).near == ("default-domain:blue:web",)
    assert await found(system, "security_group", "qqqqqq") == Found(Name("security_group", ("qqqqqq",)), None)


async def test_names_that_are_near_come_in_the_order_of_their_likeness(system: ContrailSystem) -> None:
    for name in ("blue:a-network", "blue:backend-net", "blue:frontend-net", "blue:frontend-net-2"):
        await system.create("virtual_network", name)
    near = (await found(system, "virtual_network", "default-domain:blue:fronted-net")).near
    assert near[:2] == ("default-domain:blue:frontend-net", "default-domain:blue:frontend-net-2")


async def test_the_name_of_an_absent_child_is_completed_by_its_parents(system: ContrailSystem) -> None:
    absent = await found(system, "access_control_list", "blue:web:another")
    assert absent.name.fq_name == ("default-domain", "blue", "web", "another")


async def test_a_claimed_object_is_found_before_it_exists(
    box_system: BoxSystem,
) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a", "b")
    uuid = box_system.engine.planner.plan(part("a")).operations[0].key.uuid
    assert await find(box_system.engine, "part", "a:one") == Found(part("a"), None)
    assert await find(box_system.engine, "part", uuid) == Found(part("a"), None)
    with pytest.raises(Unanswerable):
        await find(box_system.engine, "part", "one")


async def test_a_value_that_cannot_be_read_is_found_by_the_name_in_it(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = Key("box", "33333333-3333-4333-8333-333333333333")
    await box_system.offline.store.transaction(
        (), [Put(f"/contrail/box/{key.uuid}", b'{"fq_name": ["broken"], "text": 7}')]
    )
    await box_system.offline.settle()
    assert (await find(box_system.engine, "box", "broken")).key == key
    assert (await find(box_system.engine, "box", key.uuid)).key == key


async def test_the_loop_has_its_turn_while_names_are_looked_through(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The world may change in between: what was there at the beginning is found."""
    monkeypatch.setattr("intentc.inspection.traversal._BLOCK", 10)
    monkeypatch.setattr("intentc.inspection.traversal._LENGTH", 0.0)
    await box_system.boxes(*(f"box-{number}" for number in range(100)))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await box_system.boxes(f"later-{turns}", settle=False)
            await box_system.offline.settle()
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        assert (await find(box_system.engine, "part", "box-7:one")).name == part("box-7")
        assert (await find(box_system.engine, "part", "nothing:one")).key is None
        group.cancel_scope.cancel()
    assert turns > 10
