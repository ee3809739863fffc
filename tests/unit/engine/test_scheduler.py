"""Jobs and their causes have one owner; so have the objects that are to be planned, and what they wait for."""

from __future__ import annotations

import pytest

from intentc.engine.object_queue import ObjectQueue
from intentc.engine.scheduler import Scheduler
from intentc.logic import Job
from intentc.model import Key
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio

A, B = Key("box", "a"), Key("box", "b")
MISSING = ("box", "box")


@pytest.fixture
async def scheduler(box_system: BoxSystem) -> Scheduler:
    """One over a world with the box ``there``."""
    await box_system.boxes("there")
    return Scheduler(logic=box_system.engine._logic)


async def test_a_cause_is_given_out_once_and_without_one_a_memo_is_not_asked(scheduler: Scheduler) -> None:
    walked = Job(by_readers=False, path=(B, A))
    scheduler.schedule({A: walked})
    assert await scheduler.next() == A
    assert scheduler.take_cause(A) == walked
    assert scheduler.take_cause(A) == Job(by_readers=True)


async def test_readers_and_map_of_one_change_make_one_job_with_the_maps_path(scheduler: Scheduler) -> None:
    scheduler.schedule({A: Job(by_readers=False, path=(B, A))})
    scheduler.schedule({A: Job(by_readers=True, path=(B, Key("part", "p"), A))})
    assert scheduler.pending == 1
    assert scheduler.take_cause(A) == Job(by_readers=True, path=(B, A))


async def test_readers_of_another_change_replace_the_path_that_only_the_map_gave(scheduler: Scheduler) -> None:
    scheduler.schedule({A: Job(by_readers=False, path=(B, A))})
    scheduler.schedule({A: Job(by_readers=True, missing=MISSING)})
    assert scheduler.take_cause(A) == Job(by_readers=True, missing=MISSING)


async def test_a_reason_to_run_is_not_replaced_by_a_walk(scheduler: Scheduler) -> None:
    scheduler.schedule({A: Job(by_readers=True, path=(A,))})
    scheduler.schedule({A: Job(by_readers=False, path=(B, A))})
    assert scheduler.take_cause(A) == Job(by_readers=True, path=(A,))


async def test_what_is_evaluated_anew_has_no_cause_and_must_exist(box_system: BoxSystem, scheduler: Scheduler) -> None:
    there = await box_system.key("box", "there")
    scheduler.schedule({there: Job(by_readers=False, path=(B, there))})
    scheduler.reevaluate([there, A])
    assert [scheduler.take(), scheduler.take()] == [there, None]
    assert scheduler.take_cause(there) == Job(by_readers=True)


async def test_a_further_look_comes_after_live_jobs_and_keeps_the_path(
    box_system: BoxSystem, scheduler: Scheduler
) -> None:
    there = await box_system.key("box", "there")
    scheduler.schedule({there: Job(by_readers=False, path=(B, there))}, resync=True)
    scheduler.resync(there)
    scheduler.schedule({A: Job(by_readers=True)})
    assert [scheduler.take(), scheduler.take()] == [A, there]
    assert scheduler.is_resync(there) and not scheduler.is_resync(A)
    assert scheduler.take_cause(there) == Job(by_readers=True, path=(B, there))


async def test_what_waits_for_an_object_is_planned_once_that_has_changed() -> None:
    objects = ObjectQueue()
    objects.wait_for(part("b"), [part("a")])
    objects.wait_for(part("c"), [part("a"), part("d")])
    assert objects.waiters_of(part("a")) == {part("b"), part("c")}
    objects.wake([part("a"), part("d")])
    assert objects.take_all() == (part("b"), part("c"))
    objects.wake([part("a"), part("d")])
    assert objects.take_all() == () and objects.waiters_of(part("a")) == set()
