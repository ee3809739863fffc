"""The one word for how a resource stands, and what it waits for, in each of the ways in which that can be."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.inspection.quarantined import entries
from intentc.inspection.why import why
from intentc.model import Key
from intentc.reconcile.failures import Rejected, Throttled, Unavailable
from intentc.watch.protocol import Put
from tests.support.box_system import POOL, BoxSystem

pytestmark = pytest.mark.anyio

MANY = [f"box-{number:02}" for number in range(60)]
"""More deletes than are allowed without approval."""


async def asked(box_system: BoxSystem, kind: str, name: str) -> dict[str, Any]:
    return await why(box_system.engine, kind, name)


async def state(box_system: BoxSystem, kind: str, name: str) -> str:
    return str((await asked(box_system, kind, name))["state"])


def waited(answer: dict[str, Any]) -> str:
    return " / ".join(entry["what"] for entry in answer["waiting_for"])


async def test_an_object_as_desired_waits_for_nothing(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    for kind, name in (("box", "a"), ("part", "a:one")):
        answer = await asked(box_system, kind, name)
        assert (answer["state"], answer["waiting_for"], answer["exists"]) == ("as desired", [], True)


async def test_a_change_that_was_not_evaluated_yet_is_queued(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.engine.reevaluate([await box_system.key("box", "a")])
    assert await state(box_system, "box", "a") == "queued"
    answer = await asked(box_system, "part", "a:one")
    assert answer["state"] == "queued"
    assert "the evaluation of box a" in waited(answer)


async def test_an_intent_waits_for_its_number_and_the_answer_says_out_of_which_pool(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Unavailable("no route to host")]
    await box_system.boxes("a", text="number")
    answer = await asked(box_system, "box", "a")
    assert answer["state"] == "waiting"
    assert waited(answer) == f"an allocation from {POOL}, by an API server that can't be reached"
    assert answer["summary"] == f"Nothing follows from it so far; it waits for {waited(answer)}."


async def test_an_observing_compiler_says_that_a_number_needs_permission_to_write(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    observing = await BoxSystem(box_system.offline.store, observe=True).begin()
    answer = await asked(observing, "box", "a")
    assert answer["state"] == "waiting"
    assert waited(answer).startswith(f"an allocation from {POOL}, and before that permission to write (observing)")


async def test_a_number_that_the_allocator_rejects_is_reported_with_its_words(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Rejected(422, "the pool is empty")]
    await box_system.boxes("a", text="number")
    answer = await asked(box_system, "box", "a")
    assert answer["state"] == "rejected"
    assert "the pool is empty" in waited(answer)


async def test_an_intent_whose_evaluation_fails_is_held_and_so_is_what_it_made(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="fail")
    intent, made = await asked(box_system, "box", "a"), await asked(box_system, "part", "a:one")
    assert (intent["state"], made["state"]) == ("held", "held")
    assert "as the test asked for" in waited(intent)
    assert intent["waiting_for"][0]["command"] == "intentc quarantine retry box a"
    assert waited(made) == "its intent box a, which is held"
    assert made["waiting_for"][0]["command"] == "intentc why box a"
    (problem,) = made["problems"]
    assert problem["reason"] == "EvaluationFailed"
    assert any('.py", line ' in line and line.endswith("in evaluate") for line in problem["trace"])
    assert "as the test asked for" in problem["trace"][-1]


async def test_a_value_that_cannot_be_read_is_held_with_what_is_wrong_in_it(box_system: BoxSystem) -> None:
    key = Key("box", "33333333-3333-4333-8333-333333333333")
    value = b'{"fq_name": ["broken"], "text": 7}'
    await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", value)])
    await box_system.offline.settle()
    answer = await asked(box_system, "box", "broken")
    assert (answer["state"], answer["exists"], answer["role"]) == ("held", True, "input")
    assert "its stored value to be fixed" in waited(answer)


async def test_an_object_that_the_server_rejects_is_rejected_and_not_there(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a")
    answer = await asked(box_system, "part", "a:one")
    assert (answer["state"], answer["exists"]) == ("rejected", False)
    assert "no such colour" in waited(answer)
    assert answer["waiting_for"][0]["command"] == "intentc quarantine retry part a:one"
    assert [owner["name"] for owner in answer["owners"]] == ["a"]
    assert answer["summary"].startswith("It does not exist yet: box a claims it; it is rejected, and waits for")


async def test_an_object_whose_write_failed_for_a_while_is_delayed(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Throttled(300.0)]
    await box_system.boxes("a")
    answer = await asked(box_system, "part", "a:one")
    assert answer["state"] == "delayed"
    assert waited(answer).startswith("the next attempt: its last write failed")


async def test_an_object_that_is_set_back_again_and_again_is_contended(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    for _ in range(8):
        await box_system.offline.server.update(await box_system.key("part", "a", "one"), {"content": "mine"})
        await box_system.offline.settle()
    answer = await asked(box_system, "part", "a:one")
    assert answer["state"] == "contended"
    assert "content: another writer reverts it repeatedly" in waited(answer)


async def test_what_an_operator_paused_is_paused_with_what_it_made(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.engine.operator_actions.pause(await box_system.key("box", "a"), ("a",), "for the weekend")
    await box_system.offline.settle()
    intent, made = await asked(box_system, "box", "a"), await asked(box_system, "part", "a:one")
    assert (intent["state"], made["state"]) == ("paused", "paused")
    assert waited(intent) == "an operator to resume it: for the weekend"
    assert intent["waiting_for"][0]["command"] == "intentc resume box a"
    assert waited(made) == "its intent box a, which is paused"


async def test_an_object_that_an_operator_paused_is_paused_alone(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.engine.operator_actions.pause(await box_system.key("part", "a", "one"), ("a", "one"), "")
    await box_system.offline.settle()
    assert await state(box_system, "part", "a:one") == "paused"
    assert await state(box_system, "box", "a") == "as desired"


async def test_an_intent_that_was_given_up_is_paused_until_its_resource_changes(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.drop(key, box_system.engine.world.mod_revision(key))
    await box_system.offline.settle()
    answer = await asked(box_system, "box", "a")
    assert answer["state"] == "paused"
    assert "it was dropped" in waited(answer)


async def test_a_suspect_is_held_and_not_evaluated_to_be_asked(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    box_system.engine.operator_actions.suspect(key, box_system.engine.world.mod_revision(key))
    await box_system.offline.settle()
    box_system.engine.evaluator._runner.explain = None  # type: ignore[method-assign, assignment]
    assert await state(box_system, "box", "a") == "held"
    answer = await asked(box_system, "part", "a:one")
    assert (answer["state"], [part["part"] for part in answer["parts"]]) == ("held", ["", "content"])


async def test_an_intent_that_reads_what_cannot_be_read_names_it(box_system: BoxSystem) -> None:
    await box_system.boxes("seen")
    await box_system.boxes("a", text="see seen")
    key = await box_system.key("box", "seen")
    broken = b'{"fq_name": ["seen"], "text": 7}'
    await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", broken)])
    await box_system.offline.settle()
    answer = await asked(box_system, "box", "a")
    assert answer["state"] == "held"
    assert waited(answer) == "box seen to be fixed: it can't be read"
    assert answer["waiting_for"][0]["command"] == "intentc why box seen"
    (entry,) = (one for one in entries(box_system.engine, 0, 10) if one["name"] == "a")
    assert entry["message"] == "it reads box seen, which can't be read; fix that resource"
    assert entry["on"] == {"kind": "box", "name": "seen", "uuid": key.uuid}


async def test_a_reader_of_a_repaired_resource_is_no_longer_held(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("seen")
    await box_system.boxes("a", text="see seen")
    key = await box_system.key("box", "seen")
    for value in (b'{"fq_name": ["seen"], "text": 7}', b'{"fq_name": ["seen"], "text": "7"}'):
        await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", value)])
        await box_system.offline.settle()
    assert box_system.engine.states.held_by == {}
    assert entries(box_system.engine, 0, 10) == []


async def test_the_later_of_two_with_one_name_is_held_and_contributes_nothing(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = Key("box", "33333333-3333-4333-8333-333333333333")
    await box_system.offline.store.transaction((), [Put(f"/contrail/box/{key.uuid}", b'{"fq_name": ["a"]}')])
    await box_system.offline.settle()
    second = await asked(box_system, "box", key.uuid)
    assert (second["state"], second["outputs_total"], second["parts_total"]) == ("held", 0, 0)
    assert "a exists twice" in waited(second)
    assert await state(box_system, "box", "a") == "as desired"


async def test_what_may_not_be_written_is_planned(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    observing = await BoxSystem(box_system.offline.store, observe=True).begin()
    answer = await asked(observing, "part", "a:one")
    assert (answer["state"], answer["exists"]) == ("planned", False)
    assert waited(answer) == "permission to write (observing): nothing is written: --observe"


async def test_a_deletion_that_needs_approval_is_withheld(box_system: BoxSystem) -> None:
    await box_system.boxes(*MANY)
    await box_system.remove(*MANY, settle=False)
    await box_system.relist()
    answer = await asked(box_system, "part", "box-00:one")
    assert (answer["state"], answer["owners"], answer["ownership"]) == ("withheld", [], "ours")
    assert answer["waiting_for"][0]["command"] == "intentc allow-deletes part"
    assert answer["summary"].startswith(
        "It is ours, and no intent claims it any more; it is withheld, and waits for approval"
    )


async def test_an_object_whose_name_is_taken_waits_for_that(box_system: BoxSystem) -> None:
    other = b'{"fq_name": ["a", "one"], "annotations": {"key_value_pair": [{"key": "intentc", "value": "x/boxes/y"}]}}'
    uuid = "33333333-3333-4333-8333-333333333333"
    await box_system.offline.store.transaction((), [Put(f"/contrail/part/{uuid}", other)])
    await box_system.offline.settle()
    await box_system.boxes("a")
    answer = await asked(box_system, "part", "a:one")
    assert (answer["state"], answer["ownership"]) == ("waiting", "another installation's")
    assert "the name of part a:one is taken" in waited(answer)


async def test_an_object_below_a_parent_that_is_not_there_waits_for_it(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="below 44444444-4444-4444-8444-444444444444 late")
    answer = await asked(box_system, "part", "late:two")
    assert (answer["state"], answer["exists"]) == ("waiting", False)
    assert waited(answer) == "box late to be created"


async def test_before_the_first_listing_it_says_so() -> None:
    answer = await asked(BoxSystem(), "box", "a")
    assert waited(answer) == "the first listing of etcd"
    assert answer["summary"] == "Nothing is known yet: the first listing has not been applied."
