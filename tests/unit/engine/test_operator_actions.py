"""What an operator can do to a running engine (docs/engine.md §7): pause, resume, retry, drop, allow deletes."""

from __future__ import annotations

import pytest
from pytest_mock import MockerFixture

from intentc.model import Key
from intentc.reconcile.failures import Rejected
from intentc.watch.protocol import Put
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


async def revision(box_system: BoxSystem, key: Key) -> int:
    return box_system.engine.world.mod_revision(key)


def states(box_system: BoxSystem) -> dict[str, str]:
    """Name → state of what is in quarantine."""
    return {entry["name"]: entry["state"] for entry in engine_status(box_system.engine)["quarantine"]}


async def test_a_paused_intent_keeps_its_outputs_whatever_changes(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.pause(key, ("a",), "by a test")
    await box_system.change("a", text="bye")
    assert await box_system.contents() == {"a": "hello"}
    assert states(box_system) == {"a": "paused"}
    box_system.engine.operator_actions.resume(key)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "bye"}
    assert engine_status(box_system.engine)["healthy"]


async def test_outputs_of_a_paused_intent_are_no_orphans_after_a_restart(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    again = BoxSystem(box_system.offline.store)
    again.engine.operator_actions.pause(await box_system.key("box", "a"), ("a",), "by a test")
    await again.begin()
    await again.relist()
    assert await again.contents() == {"a": "hello", "b": "hello"}
    assert states(again) == {"a": "paused"}


async def test_a_paused_intent_that_is_deleted_takes_its_outputs_with_it(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.engine.operator_actions.pause(await box_system.key("box", "a"), ("a",), "by a test")
    await box_system.remove("a")
    assert await box_system.contents() == {}


@pytest.mark.parametrize("order", [("pause", "suspect"), ("suspect", "pause")])
async def test_a_suspect_that_is_paused_is_not_run_even_for_its_facts(
    box_system: BoxSystem, order: tuple[str, str], mocker: MockerFixture
) -> None:
    await box_system.boxes("a")
    again = BoxSystem(box_system.offline.store)
    key = await box_system.key("box", "a")
    for name in order:
        if name == "pause":
            again.engine.operator_actions.pause(key, ("a",), "by a test")
        else:
            again.engine.operator_actions.suspect(key, await revision(box_system, key))
    recall = mocker.spy(again.engine.evaluator._runner, "recall")
    await again.begin()
    await again.relist()
    assert again.engine.world.exists(key) and key in again.engine.states.held
    assert recall.call_count == 0
    assert await again.contents() == {"a": "hello"}


async def test_a_paused_object_is_not_written(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    key = await box_system.key("part", "a", "one")
    box_system.engine.operator_actions.pause(key, ("a", "one"), "by a test")
    await box_system.change("a", text="bye")
    await box_system.change("b", text="bye")
    assert await box_system.contents() == {"a": "hello", "b": "bye"}
    assert states(box_system) == {"a:one": "paused"}
    box_system.engine.operator_actions.resume(key)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "bye", "b": "bye"}


async def test_a_suspect_is_held_until_its_resource_changes(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    again = BoxSystem(box_system.offline.store)
    key = await box_system.key("box", "a")
    again.engine.operator_actions.suspect(key, await revision(box_system, key))
    await again.begin()
    assert states(again) == {"a": "suspect"}
    await again.change("b", text="bye")
    assert states(again) == {"a": "suspect"}
    await again.change("a", text="bye")
    assert await again.contents() == {"a": "bye", "b": "bye"}
    assert states(again) == {}


async def test_a_suspicion_and_a_pause_end_each_by_itself(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.suspect(key, await revision(box_system, key))
    box_system.engine.operator_actions.pause(key, ("a",), "by a test")
    await box_system.offline.settle()
    box_system.engine.operator_actions.unsuspect(key)
    await box_system.offline.settle()
    assert states(box_system) == {"a": "paused"}


async def test_a_dropped_intent_loses_what_it_made_until_its_resource_changes(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    await box_system.change("a", text="fail")
    key = await box_system.key("box", "a")
    assert await box_system.contents() == {"a": "hello", "b": "hello"}, "held, its outputs stay"
    box_system.engine.operator_actions.drop(key, await revision(box_system, key))
    await box_system.offline.settle()
    assert await box_system.contents() == {"b": "hello"}
    assert states(box_system) == {"a": "dropped"}
    await box_system.change("a", text="fixed")
    assert await box_system.contents() == {"a": "fixed", "b": "hello"}
    assert states(box_system) == {}


async def test_an_unreadable_intent_can_be_dropped(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    key = await box_system.key("box", "a")
    await box_system.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await box_system.offline.settle()
    assert states(box_system) == {"a": "unreadable"}
    box_system.engine.operator_actions.drop(key, await revision(box_system, key))
    await box_system.offline.settle()
    assert await box_system.contents() == {"b": "hello"}


async def test_a_retry_evaluates_a_held_intent_at_once(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="fail")
    runs = box_system.engine.evaluator.runs
    assert box_system.engine.operator_actions.retry(None) == 1
    await box_system.offline.settle()
    assert box_system.engine.evaluator.runs == runs + 1


async def test_a_retry_writes_a_rejected_object_at_once(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a")
    assert states(box_system) == {"a:one": "rejected"}
    assert box_system.engine.operator_actions.retry(None) == 1
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}


async def test_an_approval_has_withheld_deletes_made(box_system: BoxSystem) -> None:
    many = [f"box-{number}" for number in range(60)]
    await box_system.boxes(*many, "left")
    await box_system.remove(*many, settle=False)
    await box_system.relist()
    assert len(await box_system.contents()) == 61
    assert box_system.engine.operator_actions.allow_deletes("part") == 60
    await box_system.offline.settle()
    assert await box_system.contents() == {"left": "hello"}
    assert part("left") in box_system.engine.planner.book


async def test_what_a_paused_intent_made_is_left_alone_too(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.pause(key, ("a",), "by a test")
    await box_system.offline.server.update(await box_system.key("part", "a", "one"), {"content": "by hand"})
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "by hand"}
    box_system.engine.operator_actions.resume(key)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}


async def test_an_approval_of_deletes_survives_a_listing_before_they_are_made(box_system: BoxSystem) -> None:
    many = [f"box-{number}" for number in range(60)]
    await box_system.boxes(*many)
    await box_system.remove(*many, settle=False)
    await box_system.relist()
    box_system.engine.withhold("a test", "so that the deletes are deferred")
    box_system.engine.operator_actions.allow_deletes("part")
    await box_system.relist()
    assert engine_status(box_system.engine)["counts"]["withheld_deletes"] == 0
    box_system.engine.lift("a test")
    await box_system.offline.settle()
    assert await box_system.contents() == {}


async def test_what_a_paused_intent_made_is_not_made_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.pause(key, ("a",), "by a test")
    await box_system.offline.server.delete(await box_system.key("part", "a", "one"))
    await box_system.offline.settle()
    assert await box_system.contents() == {}
    box_system.engine.operator_actions.resume(key)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}


async def test_a_pause_under_another_name_takes_the_place_of_the_first(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.pause(key, ("before",), "by a test")
    box_system.engine.operator_actions.pause(key, ("a",), "by a test")
    await box_system.change("a", text="bye")
    assert await box_system.contents() == {"a": "hello"}
    box_system.engine.operator_actions.resume(key)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "bye"}
    assert states(box_system) == {}
    assert box_system.engine.states.left_if_ours == {}
