"""Objects that we make: created when claimed, changed where they differ, deleted when unclaimed."""

from __future__ import annotations

import pytest

from intentc.model import Create, Delete, InvalidInput, Key, Mark, Name, ResourceClaim, Schema, Update
from intentc.model.schema import KindSpec, ReferenceSpec, build_kind
from intentc.planning import Plan, Planner, diff
from tests.unit.planning.planning_world import (
    INSTALLATION,
    TYPES,
    PlanningWorld,
    child,
    origin,
    our_uuid,
    owned,
    parent,
    refer,
    rules,
    shared,
    struct,
)

GROUP = origin("g")


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def test_a_wanted_object_that_is_not_there_is_created(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    world.book.replace(GROUP, [claim])
    plan = world.plan(claim.name)
    assert plan.operations == (
        Create(
            Key("ruleset", our_uuid(claim.name, "uuid-g")),
            Name("ruleset", ("g", "rules")),
            parent("g"),
            Mark(INSTALLATION, "toy", "uuid-g"),
            {"rules": rules(1)},
            {},
        ),
    )
    assert not plan.waits_for
    assert not plan.problems


def test_an_object_that_is_right_needs_nothing(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    key = world.make(claim)
    world.book.replace(GROUP, [claim])
    assert world.plan(claim.name) == Plan(claim.name, revision=world.stored[key].mod_revision)


def test_an_object_is_as_created_while_all_that_we_write_is_equal(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    world.book.replace(GROUP, [claim])
    (create,) = world.plan(claim.name).operations
    assert isinstance(create, Create)
    world.carry_out(Plan(claim.name, (create,)))

    def is_as_created() -> bool:
        actual = world.assumed.actual(claim.name)
        return actual is not None and diff.is_as_created(actual, create)

    assert is_as_created()
    other = Mark(INSTALLATION, "toy", "another")
    for changed in ({"rules": rules(2)}, {"mark": other}, {"parent": None}):
        given = {"uuid": create.uuid, "mark": create.mark, "parent": create.parent, "rules": rules(1), **changed}
        world.put("ruleset", *create.fq_name, **given)
        assert not is_as_created(), changed


def test_values_are_compared_after_the_defaults(world: PlanningWorld) -> None:
    claim = child("g", rules=struct("Rules", rule=(struct("Rule", port=1, action="pass"),)), digest=0)
    world.make(child("g", rules=rules(1)))
    world.book.replace(GROUP, [claim])
    assert not world.plan(claim.name).operations


def test_only_fields_that_differ_are_written_with_the_revision_that_was_seen(world: PlanningWorld) -> None:
    key = world.make(child("g", rules=rules(1), digest=5))
    claim = child("g", rules=rules(2), digest=5)
    world.book.replace(GROUP, [claim])
    assert world.plan(claim.name).operations == (Update(key, claim.name, {"rules": rules(2)}, {}, world.revision),)


def test_a_field_that_nobody_claims_any_more_is_cleared_with_its_default(world: PlanningWorld) -> None:
    key = world.make(child("g", rules=rules(1), digest=5))
    claim = child("g", rules=rules(1))
    world.book.replace(GROUP, [claim])
    assert world.plan(claim.name).operations == (Update(key, claim.name, {"digest": 0}, {}, world.revision),)


def test_the_stored_value_stays_while_two_origins_dispute_it(world: PlanningWorld) -> None:
    world.put("group", "h")
    claim = shared("target", "t", display_name="a")
    world.make(shared("target", "t", display_name="old"))
    world.book.replace(GROUP, [claim])
    world.book.replace(origin("h"), [shared("target", "t", display_name="b")])
    plan = world.plan(claim.name)
    assert not plan.operations
    assert [(p.kind, p.name, p.reason) for p in plan.problems] == [
        ("group", "g", "Conflict"),
        ("group", "h", "Conflict"),
    ]


def test_an_object_whose_owner_is_disputed_is_not_created(world: PlanningWorld) -> None:
    world.book.replace(GROUP, [owned("target", "t", "g")])
    world.book.replace(origin("h"), [owned("target", "t", "h")])
    plan = world.plan(Name("target", ("t",)))
    assert not plan.operations
    assert len(plan.problems) == 2


def test_an_object_waits_for_its_parent() -> None:
    world = PlanningWorld()
    claim = child("g")
    world.book.replace(GROUP, [claim])
    assert world.plan(claim.name).waits_for == {Name("group", ("g",))}
    assert not world.plan(claim.name).operations
    world.put("group", "g")
    assert isinstance(world.plan(claim.name).operations[0], Create)


def test_a_created_object_carries_the_references_whose_targets_are_there(world: PlanningWorld) -> None:
    there, missing = Name("target", ("there",)), Name("target", ("missing",))
    target = world.put("target", "there")
    claim = ResourceClaim(Name("instance", ("g", "i")), parent("g"), "uuid-g")
    world.book.replace(GROUP, [claim, refer(claim.name, there), refer(claim.name, missing)])
    plan = world.plan(claim.name)
    (create,) = plan.operations
    assert isinstance(create, Create)
    assert create.references == {"target": ((target, ("there",), struct("Direction")),)}
    assert plan.waits_for == {missing}


def test_objects_that_refer_to_each_other_are_created_without_and_references_follow(world: PlanningWorld) -> None:
    one, two = (ResourceClaim(Name("instance", ("g", name)), parent("g"), "uuid-g") for name in "ab")
    world.book.replace(GROUP, [one, two, refer(one.name, two.name), refer(two.name, one.name)])
    for _ in range(2):
        for claim in (one, two):
            world.carry_out(world.plan(claim.name))
    assert not world.plan(one.name).operations
    assert not world.plan(two.name).operations
    assert len(world.stored) == 3


def test_an_object_of_ours_that_nobody_claims_is_deleted(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    key = world.make(claim)
    assert world.plan(claim.name).operations == (Delete(key, claim.name, world.revision),)


def test_nothing_is_removed_before_the_first_pass_is_complete() -> None:
    world = PlanningWorld(complete=False)
    world.put("group", "g")
    claim = child("g")
    world.make(child("g", digest=5))
    assert not world.plan(claim.name).operations
    world.book.replace(GROUP, [claim])
    assert not world.plan(claim.name).operations


def test_an_object_of_a_compiler_that_is_not_loaded_is_left_alone(world: PlanningWorld) -> None:
    name = Name("target", ("t",))
    world.put("target", "t", uuid=our_uuid(name), mark=Mark(INSTALLATION, "absent", "shared"))
    assert not world.plan(name).operations


def test_an_object_of_the_owners_former_uuid_is_deleted_before_its_replacement(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    former = ResourceClaim(claim.name, None, "uuid-former", claim.properties)
    key = world.make(former)
    world.book.replace(GROUP, [claim])
    plan = world.plan(claim.name)
    assert plan.operations == (Delete(key, claim.name, world.revision),)
    assert plan.waits_for == {claim.name}
    world.carry_out(plan)
    world.carry_out(world.plan(claim.name))
    assert [k.uuid for k in world.stored if k.kind == "ruleset"] == [our_uuid(claim.name, "uuid-g")]


def test_an_object_under_another_parent_is_made_again(world: PlanningWorld) -> None:
    claim = child("g")
    world.make(claim._replace(parent=parent("other")))
    world.book.replace(GROUP, [claim])
    plan = world.plan(claim.name)
    assert isinstance(plan.operations[0], Delete)
    world.carry_out(plan)
    world.carry_out(world.plan(claim.name))
    assert not world.plan(claim.name).operations


def test_an_object_that_cannot_be_read_is_left_alone_and_waited_for(world: PlanningWorld) -> None:
    claim = child("g", rules=rules(1))
    world.unreadable.add(world.make(claim))
    plan = world.plan(claim.name)
    assert not plan.operations
    assert plan.waits_for == {claim.name}


def test_an_object_of_a_kind_that_is_not_known_is_left_alone(world: PlanningWorld) -> None:
    assert world.plan(Name("unheard", ("x",))) == Plan(Name("unheard", ("x",)))


def test_a_schema_that_names_an_unknown_merge_function_is_rejected(world: PlanningWorld) -> None:
    kind = build_kind(KindSpec(kind="k", group="toy", references={"k": ReferenceSpec(merge="sum")}), TYPES, "toy")
    with pytest.raises(InvalidInput, match="k: k: merge function 'sum' is unknown; there are import_export"):
        Planner(Schema([kind]), INSTALLATION, {}, world.book, world.assumed, lambda key: False)
