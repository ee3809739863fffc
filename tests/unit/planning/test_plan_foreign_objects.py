"""What isn't ours is never touched; what the server makes for us is adopted; names that are taken are reported."""

from __future__ import annotations

import pytest

from intentc.model import Delete, Mark, Name, PropertyClaim, ResourceClaim, Update
from tests.unit.planning.planning_world import INSTALLATION, PlanningWorld, child, origin, parent, refer, rules, shared

GROUP = origin("g")
TARGET = Name("target", ("t",))
INSTANCE = Name("instance", ("g", "i"))
ROUTER = Name("router", ("r",))


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def reasons(world: PlanningWorld, name: Name) -> list[tuple[str, str, str]]:
    plan = world.plan(name)
    assert not plan.operations
    return [(problem.kind, problem.name, problem.reason) for problem in plan.problems]


def test_an_object_of_a_system_kind_is_adopted_and_gets_only_our_fields(world: PlanningWorld) -> None:
    key = world.put("instance", "g", "i", color="red")
    claim = ResourceClaim(INSTANCE, parent("g"), "uuid-g", (("color", "blue"), ("note", "x")))
    world.book.replace(GROUP, [claim])
    assert world.plan(INSTANCE).operations == (Update(key, INSTANCE, {"note": "x"}, {}, world.revision),)


def test_an_adopted_object_that_is_right_is_not_written(world: PlanningWorld) -> None:
    world.put("instance", "g", "i")
    world.book.replace(GROUP, [ResourceClaim(INSTANCE, parent("g"), "uuid-g")])
    assert reasons(world, INSTANCE) == []


def test_an_adopted_object_is_emptied_and_never_deleted(world: PlanningWorld) -> None:
    key = world.put("instance", "g", "service-1", note="x", color="red", parent=parent("g"))
    name = Name("instance", ("g", "service-1"))
    assert world.plan(name).operations == (Update(key, name, {"note": "none"}, {}, world.revision),)


def test_a_system_object_is_deleted_once_its_parents_deletion_is_seen(
    world: PlanningWorld,
) -> None:
    name = Name("instance", ("gone", "service-1"))
    key = world.put("instance", *name.fq_name, parent=parent("gone"))
    world.planner.left_behind([name])
    assert world.plan(name).operations == (Delete(key, name, world.revision),)


def test_a_system_object_is_deleted_once_a_pass_finds_no_parent(
    world: PlanningWorld,
) -> None:
    name = Name("instance", ("gone", "service-1"))
    key = world.put("instance", *name.fq_name, parent=parent("gone"))
    assert name in world.planner.orphans()
    assert world.plan(name).operations == (Delete(key, name, world.revision),)


def test_only_an_executed_plan_ends_the_record_of_a_left_behind_object(world: PlanningWorld) -> None:
    name = Name("instance", ("gone", "service-1"))
    world.planner.left_behind([name])
    world.planner.plan(name)
    key = world.put("instance", *name.fq_name, parent=parent("gone"))
    assert world.planner.plan(name).operations == (Delete(key, name, world.revision),)
    world.remove(key)
    world.planner.note(world.planner.plan(name))
    world.put("instance", *name.fq_name, parent=parent("gone"))
    assert world.planner.plan(name).operations == ()


def test_a_system_object_that_comes_before_its_parent_stays(world: PlanningWorld) -> None:
    name = Name("instance", ("late", "service-1"))
    world.put("instance", *name.fq_name, parent=parent("late"))
    assert world.plan(name).operations == ()


def test_a_system_object_with_another_name_stays_without_its_parent(world: PlanningWorld) -> None:
    world.put("instance", "gone", "primary", parent=parent("gone"))
    assert reasons(world, Name("instance", ("gone", "primary"))) == []


def test_a_users_object_will_do_for_a_shared_claim_that_it_satisfies(world: PlanningWorld) -> None:
    world.put("target", "t", display_name="t")
    world.book.replace(GROUP, [shared("target", "t", display_name="t")])
    assert reasons(world, TARGET) == []


def test_a_users_object_that_differs_has_taken_the_name(world: PlanningWorld) -> None:
    world.put("target", "t", display_name="mine")
    world.book.replace(GROUP, [shared("target", "t", display_name="t")])
    assert reasons(world, TARGET) == [("group", "g", "NameTaken")]


def test_a_users_object_has_taken_the_name_of_an_object_with_an_owner(world: PlanningWorld) -> None:
    world.put("ruleset", "g", "rules", rules=rules(1))
    claim = child("g", rules=rules(1))
    world.book.replace(GROUP, [claim])
    assert reasons(world, claim.name) == [("group", "g", "NameTaken")]


def test_only_the_claims_of_others_are_written_on_a_users_object(world: PlanningWorld) -> None:
    """A user's router stands where a group wants one. Its colour stays; its note is a compiler's, as on any router."""
    key = world.put("router", "r", note="mine")
    other, wanted = origin("h"), ResourceClaim(ROUTER, None, "uuid-g", (("color", "red"),))
    world.book.replace(GROUP, [wanted])
    world.book.replace(other, [PropertyClaim(ROUTER, "note", "x")])
    assert world.plan(ROUTER).operations == (Update(key, ROUTER, {"note": "x"}, {}, world.revision),)
    assert [problem.reason for problem in world.plan(ROUTER).problems] == ["NameTaken"]
    world.book.replace(other, [])
    assert world.plan(ROUTER).operations == (Update(key, ROUTER, {"note": ""}, {}, world.revision),)


def test_a_taken_name_alone_shows_nothing_of_ours(world: PlanningWorld) -> None:
    """So no value of the intent that wants it stays taken."""
    world.put("router", "r", color="blue", note="mine")
    wanted = ResourceClaim(ROUTER, None, "uuid-g", (("color", "red"), ("note", "x")))
    world.book.replace(GROUP, [wanted])
    assert not world.planner.shows_unclaimed(ROUTER)
    world.book.replace(GROUP, [])
    assert world.planner.shows_unclaimed(ROUTER)


def test_a_disputed_field_of_a_taken_object_keeps_the_users_value(world: PlanningWorld) -> None:
    world.put("router", "r", note="mine")
    world.book.replace(GROUP, [ResourceClaim(ROUTER, None, "uuid-g", (("note", "x"),))])
    world.book.replace(origin("h"), [PropertyClaim(ROUTER, "note", "y")])
    assert world.plan(ROUTER).operations == ()


def test_a_property_claimed_alone_is_written_on_a_users_object(world: PlanningWorld) -> None:
    key = world.put("router", "r", color="red")
    world.book.replace(GROUP, [PropertyClaim(ROUTER, "note", "x")])
    assert world.plan(ROUTER).operations == (Update(key, ROUTER, {"note": "x"}, {}, world.revision),)


def test_a_property_claim_waits_for_its_object_and_does_not_create_it(world: PlanningWorld) -> None:
    world.book.replace(GROUP, [PropertyClaim(ROUTER, "note", "x")])
    plan = world.plan(ROUTER)
    assert (plan.operations, plan.waits_for, plan.problems) == ((), frozenset({ROUTER}), ())


@pytest.mark.parametrize("restarted", [False, True])
def test_a_property_that_nobody_claims_any_more_has_its_default_again(world: PlanningWorld, restarted: bool) -> None:
    key = world.put("router", "r", note="x", color="red")
    if restarted:
        assert ROUTER in world.planner.orphans()
    else:
        world.book.replace(GROUP, [PropertyClaim(ROUTER, "note", "x")])
        assert ROUTER in world.book.replace(GROUP, [])
    assert world.plan(ROUTER).operations == (Update(key, ROUTER, {"note": ""}, {}, world.revision),)


def test_another_installations_object_is_neither_written_nor_emptied(world: PlanningWorld) -> None:
    mark = Mark("other", "toy", "uuid-g")
    world.put("ruleset", "g", "rules", mark=mark, rules=rules(1))
    assert reasons(world, Name("ruleset", ("g", "rules"))) == []
    world.book.replace(GROUP, [child("g", rules=rules(2))])
    assert reasons(world, Name("ruleset", ("g", "rules"))) == [("group", "g", "NameTaken")]


def test_another_installations_object_gets_none_of_our_references(world: PlanningWorld) -> None:
    world.put("target", "t")
    world.put("instance", "g", "i", mark=Mark("other", "toy", "shared"))
    world.book.replace(GROUP, [refer(INSTANCE, TARGET)])
    assert not world.plan(INSTANCE).operations


def test_a_copy_of_an_object_of_ours_is_reported_and_left_alone(world: PlanningWorld) -> None:
    world.put("target", "t", uuid="another", mark=Mark(INSTALLATION, "toy", "shared"))
    assert reasons(world, TARGET) == [("target", "t", "Copy")]
    world.book.replace(GROUP, [shared("target", "t", display_name="t")])
    assert reasons(world, TARGET) == [("target", "t", "Copy"), ("group", "g", "NameTaken")]
