"""While a contributor is held, parts may be added to an object; nothing is removed or deleted."""

from __future__ import annotations

import pytest

from intentc.model import Delete, Key, Name, Update
from tests.unit.planning.planning_world import PlanningWorld, child, origin, owned, refer, rules, shared, struct

INSTANCE = Name("instance", ("g", "i"))
T1, T2 = Name("target", ("t1",)), Name("target", ("t2",))
ONE, TWO, HELD = origin("one"), origin("two"), origin("held")


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    for name in ("one", "two", "held"):
        world.put("group", name)
    return world


def references(world: PlanningWorld) -> set[str]:
    """Plan and write the instance; the names of the targets that it then refers to."""
    world.carry_out(world.plan(INSTANCE))
    key = world.named(*INSTANCE)
    assert key is not None
    return {reference.to[0] for reference in world.stored[key].references("target")}


def with_target(world: PlanningWorld) -> tuple[Key, Key]:
    """The instance refers to t1; both targets are there."""
    one, two = world.put("target", "t1"), world.put("target", "t2")
    world.put("instance", "g", "i", references={"target": [(one, None)]}, note="old", names=("a",))
    return one, two


def test_references_are_added_and_none_removed_while_a_contributor_is_held(world: PlanningWorld) -> None:
    with_target(world)
    world.book.replace(ONE, [refer(INSTANCE, T2)])
    world.book.replace(HELD, [refer(INSTANCE, T2)])
    world.held.add(HELD)
    assert references(world) == {"t1", "t2"}
    world.held.clear()
    assert references(world) == {"t2"}


def test_an_attribute_loses_nothing_while_a_contributor_is_held(world: PlanningWorld) -> None:
    target = world.put("target", "t1")
    export = struct("Direction", import_export="export")
    world.put("instance", "g", "i", references={"target": [(target, export)]})
    world.book.replace(ONE, [refer(INSTANCE, T1, struct("Direction", import_export="import"))])
    world.book.replace(HELD, [refer(INSTANCE, T1, struct("Direction", import_export="import"))])
    world.held.add(HELD)
    (update,) = world.plan(INSTANCE).operations
    assert isinstance(update, Update)
    assert update.references["target"][0].attribute == struct("Direction")


def test_elements_of_a_collection_are_added_and_none_removed_while_a_contributor_is_held(world: PlanningWorld) -> None:
    with_target(world)
    world.held.add(HELD)
    world.book.replace(HELD, [refer(INSTANCE, T1)])
    world.book.replace(ONE, [shared("instance", "i", names=("b",))._replace(name=INSTANCE)])
    (update,) = world.plan(INSTANCE).operations
    assert isinstance(update, Update)
    assert update.properties == {"names": ("a", "b")}


def test_a_fields_value_is_not_cleared_while_a_contributor_is_held(world: PlanningWorld) -> None:
    with_target(world)
    world.held.add(HELD)
    world.book.replace(HELD, [refer(INSTANCE, T1)])
    assert not world.plan(INSTANCE).operations


def test_an_object_marked_by_a_held_origin_is_not_deleted(world: PlanningWorld) -> None:
    claim = child("held", rules=rules(1))
    world.make(claim)
    world.held.add(HELD)
    assert not world.plan(claim.name).operations
    world.held.clear()
    assert isinstance(world.plan(claim.name).operations[0], Delete)


def test_what_was_deferred_is_planned_again_when_the_origin_is_released(world: PlanningWorld) -> None:
    with_target(world)
    world.book.replace(HELD, [refer(INSTANCE, T1)])
    world.held.add(HELD)
    world.book.retain(HELD)
    world.plan(INSTANCE)
    world.held.clear()
    assert INSTANCE in world.book.replace(HELD, [refer(INSTANCE, T1)])


def test_what_an_origin_held_since_before_the_start_may_have_contributed_stays() -> None:
    world = PlanningWorld(complete=False)
    for name in ("one", "held"):
        world.put("group", name)
    with_target(world)
    world.make(shared("target", "t3"))
    own = child("one", rules=rules(1))._replace(owner="8d1f0c3e-0f0e-4bb1-9a55-0d3b1a2c4e5f")
    world.make(own)
    of_a_fact = owned("target", "t4", "one")._replace(owner="a|fact:name")
    world.make(of_a_fact)
    world.book.retain(HELD)
    world.held.add(HELD)
    world.book.replace(ONE, [refer(INSTANCE, T2)])
    world.planner.orphans()
    assert references(world) == {"t1", "t2"}
    assert not world.plan(Name("target", ("t3",))).operations
    assert not world.plan(of_a_fact.name).operations, "perhaps the held one yields that fact"
    assert isinstance(world.plan(own.name).operations[0], Delete)


def test_what_was_claimed_and_withdrawn_goes_although_some_contributions_are_unknown() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "one")
    with_target(world)
    mine = shared("target", "t3")
    world.make(mine)
    world.book.retain(HELD)
    world.held.add(HELD)
    world.book.replace(ONE, [refer(INSTANCE, T1), mine])
    world.planner.orphans()
    world.book.replace(ONE, [])
    assert references(world) == set()
    assert isinstance(world.plan(mine.name).operations[0], Delete)


def test_a_target_that_stays_because_it_is_held_keeps_its_references(world: PlanningWorld) -> None:
    target = world.make(owned("target", "t1", "held"))
    world.put("instance", "g", "i", references={"target": [(target, None)]})
    world.held.add(HELD)
    world.book.replace(ONE, [refer(INSTANCE, T1)])
    assert not world.plan(INSTANCE).operations


def test_a_look_at_a_plan_defers_nothing(world: PlanningWorld) -> None:
    """Views show the plans of objects; only the engine acts on them."""
    with_target(world)
    doomed = world.make(owned("target", "t3", "held"))
    world.put("instance", "g", "i", references={"target": [(doomed, None)]}, note="old")
    world.held.add(HELD)
    world.book.replace(HELD, [refer(INSTANCE, Name("target", ("t3",)))])
    plan = world.planner.plan(INSTANCE)
    assert plan.deferred == {(INSTANCE, HELD.uuid), (Name("target", ("t3",)), HELD.uuid)}
    assert world.book.resume(HELD.uuid) == frozenset()
    world.planner.note(plan)
    assert world.book.resume(HELD.uuid) == {INSTANCE, Name("target", ("t3",))}
