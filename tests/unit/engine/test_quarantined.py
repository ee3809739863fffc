"""What is in quarantine, and why: counted without a listing, and listed completely page by page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from intentc.inspection.quarantined import entries, quarantine_count
from intentc.inspection.quarantined import quarantine as asked
from intentc.reconcile.failures import Rejected
from intentc.watch.protocol import Delete, Put
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio

_AT_ONCE = 100
"""Keys that one transaction may put."""


async def spoil(
    box_system: BoxSystem, kind: str, *names: str, value: bytes = b'{"fq_name": ["%s"], "uuid": 5}'
) -> None:
    """Resources whose values can't be read."""
    puts = [
        Put(f"/contrail/{kind}/uuid-of-{name}", value % name.encode() if b"%s" in value else value) for name in names
    ]
    for start in range(0, len(puts), _AT_ONCE):
        await box_system.offline.store.transaction([], puts[start : start + _AT_ONCE])
    await box_system.offline.settle()


async def troubled(box_system: BoxSystem) -> None:
    """One at least of each sort, some of them in two tables."""
    box_system.write.failures["rejected"] = [Rejected(422, "no such colour")]
    await box_system.boxes("failing", "failing-too", text="fail")
    await box_system.boxes("rejected", "paused", "dropped", "good")
    for name in ("paused", "dropped"):
        box_system.engine.operator_actions.pause(await box_system.key("box", name), (name,), "by a test")
    for name in ("paused", "dropped"):
        key = await box_system.key("box", name)
        await box_system.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    box_system.engine.operator_actions.pause(await box_system.key("part", "good", "one"), ("good", "one"), "by a test")
    await spoil(box_system, "box", *(f"bad-{number}" for number in range(20)))
    await spoil(box_system, "ticket", "nothing-to-compile")
    key = await box_system.key("box", "dropped")
    box_system.engine.operator_actions.drop(key, box_system.engine.world.mod_revision(key))
    await box_system.offline.settle()


async def test_the_counts_are_those_of_the_lists(box_system: BoxSystem) -> None:
    await troubled(box_system)
    listed = entries(box_system.engine, 0, 1000)
    assert {entry["state"] for entry in listed} == {"unreadable", "held", "dropped", "rejected", "paused"}
    status = engine_status(box_system.engine)
    assert status["quarantine"] == listed
    assert status["counts"]["quarantined"] == quarantine_count(box_system.engine) == len(listed)
    assert status["counts"]["held"] == len(status["held"]) == len(set(status["held"]))
    assert status["counts"]["problems"] == len(status["problems"]) == len(box_system.offline.problems())


async def test_pages_hang_together_and_reach_the_end(box_system: BoxSystem) -> None:
    await troubled(box_system)
    whole = entries(box_system.engine, 0, 1000)
    pages = [await asked(box_system.engine, offset, 7) for offset in range(0, len(whole) + 7, 7)]
    assert [entry for page in pages for entry in page["quarantine"]] == whole
    assert {page["total"] for page in pages} == {len(whole)}


async def test_a_page_beyond_what_the_status_lists_is_there(box_system: BoxSystem) -> None:
    await spoil(box_system, "box", *(f"bad-{number:04}" for number in range(1200)))
    assert len(engine_status(box_system.engine)["quarantine"]) == 1000
    page = await asked(box_system.engine, 1195, 100)
    assert [entry["name"] for entry in page["quarantine"]] == [f"bad-{number}" for number in range(1195, 1200)]
    assert page["total"] == 1200


async def test_an_entry_that_ends_between_two_pages_is_on_neither(box_system: BoxSystem) -> None:
    await spoil(box_system, "box", *(f"bad-{number:04}" for number in range(1200)))
    assert len((await asked(box_system.engine, 0, 10))["quarantine"]) == 10
    await box_system.offline.store.transaction([], [Delete("/contrail/box/uuid-of-bad-0000")])
    await box_system.offline.settle()
    page = await asked(box_system.engine, 0, 2)
    assert ([entry["name"] for entry in page["quarantine"]], page["total"]) == (["bad-0001", "bad-0002"], 1199)


async def test_a_status_costs_the_same_however_many_are_held(box_system: BoxSystem) -> None:
    names = [f"bad-{number:04}" for number in range(4000)]
    await spoil(box_system, "box", *names[:1500])
    few = calls_of(lambda: engine_status(box_system.engine))
    await spoil(box_system, "box", *names[1500:])
    assert engine_status(box_system.engine)["counts"]["problems"] == 4000
    assert calls_of(lambda: engine_status(box_system.engine)) == pytest.approx(few, rel=0.01)


async def test_a_value_that_becomes_unreadable_is_listed_by_its_known_name(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    key = await box_system.key("box", "a")
    await box_system.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await box_system.offline.settle()
    assert [problem["name"] for problem in engine_status(box_system.engine)["problems"]] == ["a"]
    assert key.uuid in engine_status(box_system.engine)["problems"][0]["source"]


async def test_a_reader_of_an_unreadable_value_is_listed_by_name(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.boxes("b", text="see a")
    key = await box_system.key("box", "a")
    await box_system.offline.store.transaction([], [Put(f"/contrail/box/{key.uuid}", b"{")])
    await box_system.offline.settle()
    assert {problem["name"] for problem in engine_status(box_system.engine)["problems"]} == {"a", "b"}


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
