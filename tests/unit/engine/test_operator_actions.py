"""What an operator can do to a running engine (docs/engine.md §7): pause, resume, retry, drop, allow deletes."""

from __future__ import annotations

import pytest
from pytest_mock import MockerFixture

from intentc.model import Key
from intentc.watch.protocol import Put
from intentc.writing import Rejected
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


async def revision(plant: BoxSystem, key: Key) -> int:
    return plant.engine.world.mod_revision(key)


def states(plant: BoxSystem) -> dict[str, str]:
    """Name → state of what is in quarantine."""
    return {entry["name"]: entry["state"] for entry in engine_status(plant.engine)["quarantine"]}


async def test_a_paused_intent_keeps_its_outputs_whatever_changes(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    plant.engine.operator_actions.pause(key, ("a",), "by a test")
    await plant.change("a", text="bye")
    assert await plant.contents() == {"a": "hello"}
    assert states(plant) == {"a": "paused"}
    plant.engine.operator_actions.resume(key)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "bye"}
    assert engine_status(plant.engine)["healthy"]


async def test_what_a_paused_intent_made_is_no_orphan_after_a_restart(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    again = BoxSystem(plant.offline.store)
    again.engine.operator_actions.pause(await plant.key("box", "a"), ("a",), "by a test")
    await again.begin()
    await again.relist()
    assert await again.contents() == {"a": "hello", "b": "hello"}
    assert states(again) == {"a": "paused"}


async def test_a_paused_intent_that_is_deleted_takes_its_outputs_with_it(plant: BoxSystem) -> None:
    await plant.boxes("a")
    plant.engine.operator_actions.pause(await plant.key("box", "a"), ("a",), "by a test")
    await plant.remove("a")
    assert await plant.contents() == {}


@pytest.mark.parametrize("order", [("pause", "suspect"), ("suspect", "pause")])
async def test_a_suspect_that_is_paused_is_not_run_even_for_its_facts(
    plant: BoxSystem, order: tuple[str, str], mocker: MockerFixture
) -> None:
    await plant.boxes("a")
    again = BoxSystem(plant.offline.store)
    key = await plant.key("box", "a")
    for name in order:
        if name == "pause":
            again.engine.operator_actions.pause(key, ("a",), "by a test")
        else:
            again.engine.operator_actions.suspect(key, await revision(plant, key))
    recall = mocker.spy(again.engine._evaluator._runner, "recall")
    await again.begin()
    await again.relist()
    assert again.engine.world.exists(key) and key in again.engine.states.held
    assert recall.call_count == 0
    assert await again.contents() == {"a": "hello"}


async def test_a_paused_object_is_not_written(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    key = await plant.key("part", "a", "one")
    plant.engine.operator_actions.pause(key, ("a", "one"), "by a test")
    await plant.change("a", text="bye")
    await plant.change("b", text="bye")
    assert await plant.contents() == {"a": "hello", "b": "bye"}
    assert states(plant) == {"a:one": "paused"}
    plant.engine.operator_actions.resume(key)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "bye", "b": "bye"}


async def test_a_suspect_is_held_until_its_resource_changes(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    again = BoxSystem(plant.offline.store)
    key = await plant.key("box", "a")
    again.engine.operator_actions.suspect(key, await revision(plant, key))
    await again.begin()
    assert states(again) == {"a": "suspect"}
    await again.change("b", text="bye")
    assert states(again) == {"a": "suspect"}
    await again.change("a", text="bye")
    assert await again.contents() == {"a": "bye", "b": "bye"}
    assert states(again) == {}


async def test_a_suspicion_and_a_pause_end_each_by_itself(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    plant.engine.operator_actions.suspect(key, await revision(plant, key))
    plant.engine.operator_actions.pause(key, ("a",), "by a test")
    await plant.offline.settle()
    plant.engine.operator_actions.unsuspect(key)
    await plant.offline.settle()
    assert states(plant) == {"a": "paused"}


async def test_a_dropped_intent_loses_what_it_made_until_its_resource_changes(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    await plant.change("a", text="fail")
    key = await plant.key("box", "a")
    assert await plant.contents() == {"a": "hello", "b": "hello"}, "held, its outputs stay"
    plant.engine.operator_actions.drop(key, await revision(plant, key))
    await plant.offline.settle()
    assert await plant.contents() == {"b": "hello"}
    assert states(plant) == {"a": "dropped"}
    await plant.change("a", text="fixed")
    assert await plant.contents() == {"a": "fixed", "b": "hello"}
    assert states(plant) == {}


async def test_an_unreadable_intent_can_be_dropped(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    key = await plant.key("box", "a")
    await plant.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await plant.offline.settle()
    assert states(plant) == {"a": "unreadable"}
    plant.engine.operator_actions.drop(key, await revision(plant, key))
    await plant.offline.settle()
    assert await plant.contents() == {"b": "hello"}


async def test_a_retry_evaluates_a_held_intent_at_once(plant: BoxSystem) -> None:
    await plant.boxes("a", text="fail")
    runs = plant.engine.progress.evaluations
    assert plant.engine.operator_actions.retry(None) == 1
    await plant.offline.settle()
    assert plant.engine.progress.evaluations == runs + 1


async def test_a_retry_writes_a_refused_object_at_once(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Rejected(422, "no such colour")]
    await plant.boxes("a")
    assert states(plant) == {"a:one": "refused"}
    assert plant.engine.operator_actions.retry(None) == 1
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}


async def test_withheld_deletes_are_made_after_leave(plant: BoxSystem) -> None:
    many = [f"box-{number}" for number in range(60)]
    await plant.boxes(*many, "left")
    await plant.remove(*many, settle=False)
    await plant.relist()
    assert len(await plant.contents()) == 61
    assert plant.engine.operator_actions.allow_deletes("part") == 60
    await plant.offline.settle()
    assert await plant.contents() == {"left": "hello"}
    assert part("left") in plant.engine.outputs


async def test_what_a_paused_intent_made_is_left_alone_too(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    plant.engine.operator_actions.pause(key, ("a",), "by a test")
    await plant.offline.server.update(await plant.key("part", "a", "one"), {"content": "by hand"})
    await plant.offline.settle()
    assert await plant.contents() == {"a": "by hand"}
    plant.engine.operator_actions.resume(key)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}


async def test_leave_for_deletes_outlives_a_listing_that_comes_before_they_are_made(plant: BoxSystem) -> None:
    many = [f"box-{number}" for number in range(60)]
    await plant.boxes(*many)
    await plant.remove(*many, settle=False)
    await plant.relist()
    plant.engine.withhold("a test", "so that the deletes are deferred")
    plant.engine.operator_actions.allow_deletes("part")
    await plant.relist()
    assert engine_status(plant.engine)["counts"]["withheld_deletes"] == 0
    plant.engine.allow("a test")
    await plant.offline.settle()
    assert await plant.contents() == {}


async def test_what_a_paused_intent_made_is_not_made_again(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    plant.engine.operator_actions.pause(key, ("a",), "by a test")
    await plant.offline.server.delete(await plant.key("part", "a", "one"))
    await plant.offline.settle()
    assert await plant.contents() == {}
    plant.engine.operator_actions.resume(key)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}


async def test_a_pause_under_another_name_takes_the_place_of_the_first(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    plant.engine.operator_actions.pause(key, ("before",), "by a test")
    plant.engine.operator_actions.pause(key, ("a",), "by a test")
    await plant.change("a", text="bye")
    assert await plant.contents() == {"a": "hello"}
    plant.engine.operator_actions.resume(key)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "bye"}
    assert states(plant) == {}
    assert plant.engine._states.left_if_ours == {}
