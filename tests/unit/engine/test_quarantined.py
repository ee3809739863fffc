"""What is in quarantine, and why: counted without a listing, and listed completely page by page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from intentc.inspection.status.quarantined import quarantine, quarantine_count
from intentc.inspection.views.quarantine import quarantine as asked
from intentc.watch.protocol import Delete, Put
from intentc.writing import Rejected
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

_AT_ONCE = 100
"""Keys that one transaction may put."""


async def spoil(plant: BoxSystem, kind: str, *names: str, value: bytes = b'{"fq_name": ["%s"], "uuid": 5}') -> None:
    """Resources whose values can't be read."""
    puts = [
        Put(f"/contrail/{kind}/uuid-of-{name}", value % name.encode() if b"%s" in value else value) for name in names
    ]
    for start in range(0, len(puts), _AT_ONCE):
        await plant.offline.store.transaction([], puts[start : start + _AT_ONCE])
    await plant.offline.settle()


async def troubled(plant: BoxSystem) -> None:
    """One at least of each sort, some of them in two tables."""
    plant.write.failures["refused"] = [Rejected(422, "no such colour")]
    await plant.boxes("failing", "failing-too", text="fail")
    await plant.boxes("refused", "paused", "dropped", "good")
    for name in ("paused", "dropped"):
        plant.engine.operator_actions.pause(await plant.key("box", name), (name,), "by a test")
    for name in ("paused", "dropped"):
        key = await plant.key("box", name)
        await plant.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    plant.engine.operator_actions.pause(await plant.key("part", "good", "one"), ("good", "one"), "by a test")
    await spoil(plant, "box", *(f"bad-{number}" for number in range(20)))
    await spoil(plant, "ticket", "nothing-to-compile")
    key = await plant.key("box", "dropped")
    plant.engine.operator_actions.drop(key, plant.engine.world.mod_revision(key))
    await plant.offline.settle()


async def test_the_counts_are_those_of_the_lists(plant: BoxSystem) -> None:
    await troubled(plant)
    listed = quarantine(plant.engine.view, 0, 1000)
    assert {entry["state"] for entry in listed} == {"unreadable", "held", "dropped", "refused", "paused"}
    status = engine_status(plant.engine)
    assert status["quarantine"] == listed
    assert status["counts"]["quarantined"] == quarantine_count(plant.engine.view) == len(listed)
    assert status["counts"]["held"] == len(status["held"]) == len(set(status["held"]))
    assert status["counts"]["problems"] == len(status["problems"]) == len(plant.offline.problems())


async def test_pages_hang_together_and_reach_the_end(plant: BoxSystem) -> None:
    await troubled(plant)
    whole = quarantine(plant.engine.view, 0, 1000)
    pages = [await asked(plant.engine.view, offset, 7) for offset in range(0, len(whole) + 7, 7)]
    assert [entry for page in pages for entry in page["quarantine"]] == whole
    assert {page["total"] for page in pages} == {len(whole)}


async def test_a_page_beyond_what_the_status_lists_is_there(plant: BoxSystem) -> None:
    await spoil(plant, "box", *(f"bad-{number:04}" for number in range(1200)))
    assert len(engine_status(plant.engine)["quarantine"]) == 1000
    page = await asked(plant.engine.view, 1195, 100)
    assert [entry["name"] for entry in page["quarantine"]] == [f"bad-{number}" for number in range(1195, 1200)]
    assert page["total"] == 1200


async def test_who_leaves_between_two_pages_is_in_none(plant: BoxSystem) -> None:
    await spoil(plant, "box", *(f"bad-{number:04}" for number in range(1200)))
    assert len((await asked(plant.engine.view, 0, 10))["quarantine"]) == 10
    await plant.offline.store.transaction([], [Delete("/contrail/box/uuid-of-bad-0000")])
    await plant.offline.settle()
    page = await asked(plant.engine.view, 0, 2)
    assert ([entry["name"] for entry in page["quarantine"]], page["total"]) == (["bad-0001", "bad-0002"], 1199)


async def test_a_status_costs_the_same_however_many_are_held(plant: BoxSystem) -> None:
    names = [f"bad-{number:04}" for number in range(4000)]
    await spoil(plant, "box", *names[:1500])
    few = calls_of(lambda: engine_status(plant.engine))
    await spoil(plant, "box", *names[1500:])
    assert engine_status(plant.engine)["counts"]["problems"] == 4000
    assert calls_of(lambda: engine_status(plant.engine)) == pytest.approx(few, rel=0.01)


async def test_a_value_that_becomes_unreadable_is_listed_by_its_known_name(plant: BoxSystem) -> None:
    await plant.boxes("a")
    key = await plant.key("box", "a")
    await plant.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await plant.offline.settle()
    assert [problem["name"] for problem in engine_status(plant.engine)["problems"]] == ["a"]
    assert key.uuid in engine_status(plant.engine)["problems"][0]["source"]


async def test_a_reader_of_an_unreadable_value_is_listed_by_name(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await plant.boxes("b", text="see a")
    key = await plant.key("box", "a")
    await plant.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await plant.offline.settle()
    assert {problem["name"] for problem in engine_status(plant.engine)["problems"]} == {"a", "b"}


def calls_of(work: Callable[[], Any]) -> int:
    """How many functions are called: what time it takes without a clock."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
