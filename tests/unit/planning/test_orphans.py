"""After the first complete pass: unclaimed objects are found, and mass deletions wait for approval."""

from __future__ import annotations

from intentc.model import Delete, Mark, Name
from intentc.planning import DeleteGuard, Planner
from tests.unit.planning.planning_world import (
    COMPILER_OF_KIND,
    INSTALLATION,
    SCHEMA,
    PlanningWorld,
    child,
    origin,
    our_uuid,
    owned,
    parent,
    shared,
)


def rulesets(world: PlanningWorld, count: int, *, owners: int = 0) -> list[Name]:
    """So many rule sets of ours, each of an owner of its own, or ``owners`` of them claimed."""
    names = []
    for number in range(count):
        claim = child(f"g{number}")
        world.make(claim)
        if number < owners:
            world.put("group", f"g{number}")
            world.book.replace(origin(f"g{number}"), [claim])
        else:
            names.append(claim.name)
    return names


def test_objects_of_ours_without_a_claim_are_orphans() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    claimed, left = child("g"), child("g", "former")
    world.make(claimed)
    world.make(left)
    world.put("target", "users")
    world.put("target", "other", mark=Mark("other", "toy", "shared"))
    world.book.replace(origin("g"), [claimed])
    assert world.planner.orphans() == {left.name}
    assert isinstance(world.plan(left.name).operations[0], Delete)


def test_objects_that_carry_fields_of_ours_without_a_claim_are_found() -> None:
    world = PlanningWorld(complete=False)
    target = world.put("target", "t")
    ours = world.make(owned("target", "o", "r"))
    world.book.replace(origin("r"), [owned("target", "o", "r")])
    world.put("instance", "g", "plain")
    world.put("instance", "g", "noted", note="x")
    world.put("instance", "g", "referring", references={"target": [(target, None)]})
    world.put("router", "r", references={"target": [(ours, None), (target, None)]})
    world.put("router", "s", references={"target": [(target, None)]})
    assert world.planner.orphans() == {
        Name("instance", ("g", "noted")),
        Name("instance", ("g", "referring")),
        Name("router", ("r",)),
    }


def test_a_parentless_system_object_with_our_name_is_an_orphan() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    world.put("instance", "g", "service-1", parent=parent("g"))
    world.put("instance", "gone", "service-2", parent=parent("gone"))
    assert world.planner.orphans() == {Name("instance", ("gone", "service-2"))}


def test_objects_of_a_compiler_that_is_not_loaded_are_no_orphans() -> None:
    world = PlanningWorld(complete=False)
    world.make(child("g"))
    name = Name("target", ("t",))
    world.put("target", "t", uuid=our_uuid(name), mark=Mark(INSTALLATION, "absent", "shared"))
    loaded = {kind: compiler for kind, compiler in COMPILER_OF_KIND.items() if kind != "ruleset"}
    planner = Planner(SCHEMA, INSTALLATION, loaded, world.book, world.assumed, world.held.__contains__)
    assert planner.orphans() == frozenset()


def test_an_unreadable_object_is_no_orphan() -> None:
    world = PlanningWorld(complete=False)
    world.unreadable.add(world.make(child("g")))
    assert world.planner.orphans() == frozenset()


def test_many_deletes_are_held_and_reported_until_they_are_allowed() -> None:
    world = PlanningWorld(complete=False)
    names = rulesets(world, 51)
    assert world.planner.orphans() == set(names)
    plan = world.plan(names[0])
    assert not plan.operations
    assert [(p.kind, p.reason) for p in plan.problems] == [("ruleset", "DeletesHeld")]
    assert "allow-deletes" in plan.problems[0].message
    assert world.guard.allow("ruleset") == set(names)
    assert isinstance(world.plan(names[0]).operations[0], Delete)


def test_fifty_deletes_need_no_approval() -> None:
    world = PlanningWorld(complete=False)
    names = rulesets(world, 50)
    world.planner.orphans()
    assert not world.guard.withheld
    assert isinstance(world.plan(names[0]).operations[0], Delete)


def test_deleting_a_small_share_of_many_objects_needs_no_approval() -> None:
    guard = DeleteGuard()
    orphans = {Name("ruleset", (str(number),)): str(number) for number in range(60)}
    guard.sift(orphans, {"ruleset": 1200})
    assert not guard.withheld
    guard.sift(orphans, {"ruleset": 1199})
    assert set(guard.withheld) == {"ruleset"}


def test_orphans_whose_owner_was_seen_to_go_do_not_count() -> None:
    world = PlanningWorld(complete=False)
    names = rulesets(world, 51)
    world.guard.owner_deleted("uuid-g0")
    world.planner.orphans()
    assert not world.guard.withheld
    assert isinstance(world.plan(names[0]).operations[0], Delete)


def test_orphans_of_a_held_origin_do_not_count() -> None:
    world = PlanningWorld(complete=False)
    rulesets(world, 51)
    world.held.add(origin("g0"))
    world.planner.orphans()
    assert not world.guard.withheld


def test_another_kind_is_not_held_up() -> None:
    world = PlanningWorld(complete=False)
    rulesets(world, 51)
    world.make(shared("target", "t"))
    world.planner.orphans()
    assert isinstance(world.plan(Name("target", ("t",))).operations[0], Delete)


def test_removals_before_the_first_pass_are_planned_after_it() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    world.make(child("g", digest=5))
    world.book.replace(origin("g"), [child("g")])
    assert not world.plan(child("g").name).operations
    assert world.planner.orphans() == {child("g").name}
    assert len(world.plan(child("g").name).operations) == 1
