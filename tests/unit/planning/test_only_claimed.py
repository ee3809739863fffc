"""Objects that exist only while they are claimed: those without mark are deleted as well, and wait as ours do
(docs/engine.md §5.6)."""

from __future__ import annotations

import pytest

from intentc.model import Create, Delete, Name, PropertyClaim, ResourceClaim, Update
from tests.unit.planning.planning_world import PlanningWorld, origin, parent, refer

GROUP = origin("g")
SUMMARY = Name("summary", ("g", "summary"))
OTHER = Name("summary", ("g", "users"))
CLAIM = ResourceClaim(SUMMARY, parent("g"), "uuid-g", (("note", "x"),))


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def test_an_adopted_object_is_deleted_with_its_last_claim(world: PlanningWorld) -> None:
    key = world.put("summary", *SUMMARY.fq_name, parent=parent("g"), note="x", color="red")
    world.book.replace(GROUP, [CLAIM])
    assert world.plan(SUMMARY).operations == ()
    world.book.replace(GROUP, [])
    assert world.plan(SUMMARY).operations == (Delete(key, SUMMARY, world.revision),)


def test_only_a_complete_pass_finds_an_unclaimed_object() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    key = world.put("summary", *SUMMARY.fq_name, parent=parent("g"))
    assert world.plan(SUMMARY).operations == ()
    assert SUMMARY in world.planner.orphans()
    assert world.plan(SUMMARY).operations == (Delete(key, SUMMARY, world.revision),)


def test_a_later_unclaimed_object_is_deleted_and_a_claimed_one_created_again(world: PlanningWorld) -> None:
    world.put("summary", *SUMMARY.fq_name, parent=parent("g"), color="red")
    world.carry_out(world.plan(SUMMARY))
    world.book.replace(GROUP, [CLAIM])
    assert isinstance(world.plan(SUMMARY).operations[0], Create)


def test_one_with_another_name_is_emptied_and_stays(world: PlanningWorld) -> None:
    key = world.put("summary", *OTHER.fq_name, parent=parent("g"), note="x", color="red")
    assert OTHER in world.planner.orphans()
    assert world.plan(OTHER).operations == (Update(key, OTHER, {"note": ""}, {}, world.revision),)


def test_one_stays_while_something_of_it_is_claimed(world: PlanningWorld) -> None:
    world.put("summary", *SUMMARY.fq_name, parent=parent("g"), note="x")
    world.book.replace(GROUP, [PropertyClaim(SUMMARY, "note", "x")])
    assert world.plan(SUMMARY).operations == ()


def test_one_that_comes_before_its_parent_stays(world: PlanningWorld) -> None:
    world.put("summary", "late", "summary", parent=parent("late"))
    assert world.plan(Name("summary", ("late", "summary"))).operations == ()


def test_one_below_a_held_parent_stays_until_that_is_compiled(world: PlanningWorld) -> None:
    world.put("summary", *SUMMARY.fq_name, parent=parent("g"), note="x")
    world.held.add(GROUP)
    assert SUMMARY in world.planner.orphans()
    assert world.plan(SUMMARY).operations == ()
    world.held.discard(GROUP)
    assert SUMMARY in world.book.replace(GROUP, [])
    assert isinstance(world.plan(SUMMARY).operations[0], Delete)


def test_an_adopted_object_stays_while_claims_of_a_held_intent_are_unknown() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    world.put("summary", *SUMMARY.fq_name, parent=parent("g"), note="x")
    other = origin("h")
    world.book.retain(other)
    world.planner.orphans()
    assert world.plan(SUMMARY).operations == ()
    assert SUMMARY in world.book.replace(other, [])
    assert isinstance(world.plan(SUMMARY).operations[0], Delete)


def test_many_at_once_wait_for_an_approval(world: PlanningWorld) -> None:
    for number in range(51):
        world.put("group", f"g{number}")
        world.put("summary", f"g{number}", "summary", uuid=f"uuid-summary-{number}", parent=parent(f"g{number}"))
    world.planner.orphans()
    name = Name("summary", ("g0", "summary"))
    plan = world.plan(name)
    assert (plan.operations, [problem.reason for problem in plan.problems]) == ((), ["DeletesHeld"])
    world.guard.allow("summary")
    assert isinstance(world.plan(name).operations[0], Delete)


def test_a_reference_waits_for_one_that_is_about_to_be_deleted(world: PlanningWorld) -> None:
    holder = Name("instance", ("g", "i"))
    world.put("instance", *holder.fq_name)
    world.put("summary", *SUMMARY.fq_name, parent=parent("g"))
    world.book.replace(origin("h"), [refer(holder, SUMMARY)])
    plan = world.plan(holder)
    assert plan.operations == ()
    assert plan.waits_for == {SUMMARY}
