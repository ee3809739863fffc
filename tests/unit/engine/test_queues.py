"""Jobs and their causes have one owner; so have the objects that are to be planned, and what they wait for."""

from __future__ import annotations

import pytest

from intentc.engine.jobs import Jobs
from intentc.engine.objects import Objects
from intentc.logic import Job
from intentc.model import Key
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio

A, B = Key("box", "a"), Key("box", "b")
MISSING = ("box", "box")


@pytest.fixture
async def jobs(box_system: BoxSystem) -> Jobs:
    """One over a world with the box ``there``."""
    await box_system.boxes("there")
    return Jobs(box_system.engine.world)


async def test_a_cause_is_given_out_once_and_without_one_a_memo_is_not_asked(jobs: Jobs) -> None:
    walked = Job(by_readers=False, path=(B, A))
    jobs.schedule({A: walked})
    assert jobs.take() == A
    assert jobs.take_cause(A) == walked
    assert jobs.take_cause(A) == Job(by_readers=True)


async def test_readers_and_map_of_one_change_make_one_job_with_the_maps_path(jobs: Jobs) -> None:
    jobs.schedule({A: Job(by_readers=False, path=(B, A))})
    jobs.schedule({A: Job(by_readers=True, path=(B, Key("part", "p"), A))})
    assert jobs.pending() == 1
    assert jobs.take_cause(A) == Job(by_readers=True, path=(B, A))


async def test_readers_of_another_change_replace_the_path_that_only_the_map_gave(jobs: Jobs) -> None:
    jobs.schedule({A: Job(by_readers=False, path=(B, A))})
    jobs.schedule({A: Job(by_readers=True, missing=MISSING)})
    assert jobs.take_cause(A) == Job(by_readers=True, missing=MISSING)


async def test_a_reason_to_run_is_not_replaced_by_a_walk(jobs: Jobs) -> None:
    jobs.schedule({A: Job(by_readers=True, path=(A,))})
    jobs.schedule({A: Job(by_readers=False, path=(B, A))})
    assert jobs.take_cause(A) == Job(by_readers=True, path=(A,))


async def test_what_is_evaluated_anew_has_no_cause_and_must_exist(box_system: BoxSystem, jobs: Jobs) -> None:
    there = await box_system.key("box", "there")
    jobs.schedule({there: Job(by_readers=False, path=(B, there))})
    jobs.reevaluate([there, A])
    assert [jobs.take(), jobs.take()] == [there, None]
    assert jobs.take_cause(there) == Job(by_readers=True)


async def test_a_further_look_comes_after_live_jobs_and_keeps_the_path(box_system: BoxSystem, jobs: Jobs) -> None:
    there = await box_system.key("box", "there")
    jobs.schedule({there: Job(by_readers=False, path=(B, there))}, resync=True)
    jobs.resync(there)
    jobs.schedule({A: Job(by_readers=True)})
    assert [jobs.take(), jobs.take()] == [A, there]
    assert jobs.is_resync(there) and not jobs.is_resync(A)
    assert jobs.take_cause(there) == Job(by_readers=True, path=(B, there))


async def test_an_object_that_waits_for_another_is_planned_once_that_changes() -> None:
    objects = Objects()
    objects.wait_for(part("b"), [part("a")])
    objects.wait_for(part("c"), [part("a"), part("d")])
    assert objects.waiters_of(part("a")) == {part("b"), part("c")}
    objects.wake([part("a"), part("d")])
    assert objects.take_all() == (part("b"), part("c"))
    objects.wake([part("a"), part("d")])
    assert objects.take_all() == () and objects.waiters_of(part("a")) == set()
