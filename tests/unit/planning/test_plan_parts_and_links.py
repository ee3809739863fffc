"""A compiler writes parts of a user's property, and links between objects that it did not make."""

from __future__ import annotations

import pytest

from intentc.model import (
    AddReference,
    Claim,
    Create,
    Key,
    Mark,
    Name,
    PropertyClaim,
    ReferenceValue,
    RelationClaim,
    RemoveReference,
    Update,
)
from tests.unit.planning.planning_world import INSTALLATION, PlanningWorld, origin, our_uuid, owned, refer, struct

GROUP = origin("g")
A, B = Name("router", ("a",)), Name("router", ("b",))
OURS, USERS = struct("Weight", weight=1), struct("Weight", weight=7)


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def two_routers(world: PlanningWorld, attribute: object = None) -> Key:
    """Routers a and b; a refers to b if an attribute is given. The key of b."""
    other = world.put("router", "b")
    world.put("router", "a", references={"router": [(other, attribute)] if attribute else []})
    return other


def removals(world: PlanningWorld, name: Name) -> list[Key]:
    return [operation.target for operation in world.plan(name).operations if isinstance(operation, RemoveReference)]


def test_a_part_of_a_users_property_is_written_and_the_rest_stays(world: PlanningWorld) -> None:
    key = world.put("router", "a", rule=struct("Rule", port=1, action="drop"))
    world.book.replace(GROUP, [PropertyClaim(A, "rule.port", 2)])
    changed = struct("Rule", port=2, action="drop")
    assert world.plan(A).operations == (Update(key, A, {"rule": changed}, {}, world.revision),)


@pytest.mark.parametrize("claims", [[PropertyClaim(A, "rule.port", 1)], []])
def test_a_part_that_is_right_or_no_longer_claimed_stays(world: PlanningWorld, claims: list[PropertyClaim]) -> None:
    world.put("router", "a", rule=struct("Rule", port=1))
    world.book.replace(GROUP, claims)
    assert world.plan(A).operations == ()
    assert A not in world.planner.orphans()


def test_two_values_of_a_part_are_a_problem_and_the_stored_one_stays(world: PlanningWorld) -> None:
    world.put("router", "a", rule=struct("Rule", port=1))
    world.book.replace(GROUP, [PropertyClaim(A, "rule.port", 2)])
    world.book.replace(origin("h"), [PropertyClaim(A, "rule.port", 3)])
    plan = world.plan(A)
    assert plan.operations == ()
    assert [problem.reason for problem in plan.problems] == ["Conflict", "Conflict"]


def test_an_object_is_created_with_the_part_that_another_intent_assigns(world: PlanningWorld) -> None:
    world.book.replace(GROUP, [owned("router", "a", "g", rule=struct("Rule", port=1, action="drop"))])
    world.book.replace(origin("h"), [PropertyClaim(A, "rule.port", 2)])
    (create,) = world.plan(A).operations
    assert isinstance(create, Create)
    assert create.properties == {"rule": struct("Rule", port=2, action="drop")}


def test_an_object_is_created_with_a_part_of_a_property_that_nobody_gives(world: PlanningWorld) -> None:
    world.book.replace(GROUP, [owned("router", "a", "g"), PropertyClaim(A, "rule.port", 2)])
    (create,) = world.plan(A).operations
    assert isinstance(create, Create)
    assert create.properties == {"rule": struct("Rule", port=2)}


def test_a_part_of_a_property_that_the_owner_gives_as_well_is_written_once(world: PlanningWorld) -> None:
    claim = owned("router", "a", "g", rule=struct("Rule", port=1, action="drop"))
    world.make(claim)
    world.book.replace(GROUP, [claim, PropertyClaim(A, "rule.port", 2)])
    plan = world.plan(A)
    assert len(plan.operations) == 1
    world.carry_out(plan)
    assert world.plan(A).operations == ()


def test_a_disputed_part_of_an_owned_property_keeps_its_stored_value(world: PlanningWorld) -> None:
    key = world.make(owned("router", "a", "g", rule=struct("Rule", port=9)))
    claim = owned("router", "a", "g", rule=struct("Rule", port=1, action="drop"))
    world.book.replace(GROUP, [claim, PropertyClaim(A, "rule.port", 2)])
    world.book.replace(origin("h"), [PropertyClaim(A, "rule.port", 3)])
    changed = struct("Rule", port=9, action="drop")
    assert world.plan(A).operations == (Update(key, A, {"rule": changed}, {}, world.revision),)


def test_a_part_of_an_optional_property_makes_the_property(world: PlanningWorld) -> None:
    key = world.put("router", "a")
    world.book.replace(GROUP, [PropertyClaim(A, "spare.rule.port", 2)])
    changed = struct("Spare", rule=struct("Rule", port=2))
    plan = world.plan(A)
    assert plan.operations == (Update(key, A, {"spare": changed}, {}, world.revision),)
    world.carry_out(plan)
    assert world.plan(A).operations == ()


def test_a_part_of_our_manifest_stands_in_an_otherwise_empty_property(world: PlanningWorld) -> None:
    claim = owned("card", "c", "g", rule=struct("Rule", action="drop"))
    world.make(claim)
    world.book.replace(GROUP, [owned("card", "c", "g"), PropertyClaim(claim.name, "rule.port", 2)])
    plan = world.plan(claim.name)
    world.carry_out(plan)
    (update,) = plan.operations
    assert isinstance(update, Update)
    assert update.properties == {"rule": struct("Rule", port=2)}
    assert world.plan(claim.name).operations == ()


def test_a_link_with_our_attribute_is_added_and_does_not_block_its_target(world: PlanningWorld) -> None:
    other = two_routers(world)
    world.book.replace(GROUP, [refer(A, B, OURS)])
    (add,) = world.plan(A).operations
    assert add == AddReference(Key("router", "uuid-a"), A, "router", ReferenceValue(other, ("b",), OURS), True)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_link_with_our_attribute_ends_with_its_claim(world: PlanningWorld, restarted: bool) -> None:
    other = two_routers(world, OURS)
    if restarted:
        assert A in world.planner.orphans()
    else:
        world.book.replace(GROUP, [refer(A, B, OURS)])
        assert A in world.book.replace(GROUP, [])
    assert removals(world, A) == [other]


def test_a_link_with_another_attribute_is_the_users_claimed_or_not(world: PlanningWorld) -> None:
    two_routers(world, USERS)
    assert A not in world.planner.orphans()
    world.book.replace(GROUP, [refer(A, B, OURS)])
    assert world.plan(A).operations == ()


def test_an_unwanted_link_is_removed_whoever_wrote_it(world: PlanningWorld) -> None:
    other = two_routers(world, USERS)
    world.book.replace(GROUP, [RelationClaim(A, "router", unwanted=(B,))])
    assert removals(world, A) == [other]


@pytest.mark.parametrize("stored_name", [(), ("former",)])
def test_an_unwanted_link_is_known_by_its_uuid(world: PlanningWorld, stored_name: tuple[str, ...]) -> None:
    other = two_routers(world, USERS)
    world.call_targets(Key("router", "uuid-a"), "router", *stored_name)
    world.book.replace(GROUP, [RelationClaim(A, "router", unwanted=(B,))])
    assert removals(world, A) == [other]


def test_a_link_to_another_object_stays_though_it_bears_the_unwanted_name(world: PlanningWorld) -> None:
    two_routers(world)
    world.put("router", "a", references={"router": [(world.put("router", "c"), USERS)]})
    world.call_targets(Key("router", "uuid-a"), "router", "b")
    world.book.replace(GROUP, [RelationClaim(A, "router", unwanted=(B,))])
    assert removals(world, A) == []


def test_a_disputed_link_stays_though_its_entry_has_no_name(world: PlanningWorld) -> None:
    two_routers(world, OURS)
    world.call_targets(Key("router", "uuid-a"), "router")
    world.book.replace(GROUP, [refer(A, B, OURS)])
    world.book.replace(origin("h"), [refer(A, B, USERS)])
    assert removals(world, A) == []


@pytest.mark.parametrize("attribute", [OURS, USERS])
def test_kept_links_stay_and_none_is_added(world: PlanningWorld, attribute: object) -> None:
    two_routers(world, attribute)
    third = world.put("router", "c")
    claims: list[Claim] = [RelationClaim(A, "router", kept=True), refer(A, Name("router", ("c",)), OURS)]
    world.book.replace(GROUP, claims)
    assert third is not None
    plan = world.plan(A)
    assert plan.operations == ()
    assert [problem.reason for problem in plan.problems] == ["Conflict"]


def test_between_two_objects_that_we_made_every_link_is_ours(world: PlanningWorld) -> None:
    first, second = (owned("router", name, "g") for name in "ab")
    other = world.make(second)
    key = world.make(first, references={"router": [(other, USERS)]})
    assert key.uuid == our_uuid(A, GROUP.uuid)
    world.book.replace(GROUP, [first, second, refer(A, B, struct("Weight", weight=9))])
    (change,) = world.plan(A).operations
    assert isinstance(change, AddReference)
    assert change.target.attribute == struct("Weight", weight=9)
    world.book.replace(GROUP, [first, second])
    assert removals(world, A) == [other]


def test_an_entry_without_a_name_is_known_by_the_name_of_its_target(world: PlanningWorld) -> None:
    world.make(owned("target", "t", "a"))
    target = world.named("target", ("t",))
    assert target is not None
    holder = world.put("router", "a", references={"target": [(target, None)]})
    world.call_targets(holder, "target")
    assert A in world.planner.orphans()
    assert removals(world, A) == [target]


def test_a_link_from_an_object_that_we_made_to_a_users_is_not(world: PlanningWorld) -> None:
    first = owned("router", "a", "g")
    world.make(first, references={"router": [(world.put("router", "b"), USERS)]})
    world.book.replace(GROUP, [first])
    assert world.plan(A).operations == ()
    assert world.stored[world.named("router", ("a",)) or Key("", "")].mark == Mark(INSTALLATION, "toy", GROUP.uuid)
