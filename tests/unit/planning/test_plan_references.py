"""References: whole lists where they are ours, one at a time where they are shared, targets first."""

from __future__ import annotations

import pytest

from intentc.model import (
    AddReference,
    Claim,
    Delete,
    Key,
    Name,
    Parent,
    ReferenceValue,
    RelationClaim,
    RemoveReference,
    ResourceClaim,
    Update,
)
from tests.unit.planning.planning_world import PlanningWorld, origin, owned, refer, shared, struct

INSTANCE = Name("instance", ("g", "i"))
ROUTER = Name("router", ("r",))
T1, T2 = Name("target", ("t1",)), Name("target", ("t2",))
GROUP, ROUTER_KEY = origin("g"), origin("r", "router")
BOTH = struct("Direction")


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def instance(world: PlanningWorld, *targets: Key) -> Key:
    """The instance as the server made it."""
    return world.put("instance", "g", "i", references={"target": [(key, None) for key in targets]})


def router(world: PlanningWorld, *targets: Key) -> Key:
    return world.put("router", "r", references={"target": [(key, None) for key in targets]})


def test_a_list_of_ours_is_replaced_whole(world: PlanningWorld) -> None:
    one, two = world.make(shared("target", "t1")), world.make(shared("target", "t2"))
    holder = instance(world, one)
    world.book.replace(GROUP, [shared("target", "t1"), shared("target", "t2"), refer(INSTANCE, T2)])
    revision = world.revision
    wanted = {"target": (ReferenceValue(two, ("t2",), BOTH),)}
    assert world.plan(INSTANCE).operations == (Update(holder, INSTANCE, {}, wanted, revision),)


def test_a_list_that_is_right_in_another_order_is_left_alone(world: PlanningWorld) -> None:
    one, two = world.make(shared("target", "t1")), world.make(shared("target", "t2"))
    instance(world, two, one)
    world.book.replace(
        GROUP, [shared("target", "t1"), shared("target", "t2"), refer(INSTANCE, T1), refer(INSTANCE, T2, BOTH)]
    )
    assert not world.plan(INSTANCE).operations


def test_an_unclaimed_list_on_an_object_of_others_is_emptied(world: PlanningWorld) -> None:
    holder = instance(world, world.put("target", "t1"))
    assert world.plan(INSTANCE).operations == (Update(holder, INSTANCE, {}, {"target": ()}, world.revision),)


def test_the_stored_attribute_stays_while_it_is_disputed(world: PlanningWorld) -> None:
    other = world.put("instance", "g", "o")
    weight = struct("Weight", weight=7)
    world.put("instance", "g", "i", references={"instance": [(other, weight)]})
    for number in (1, 2):
        claim = refer(INSTANCE, Name("instance", ("g", "o")), struct("Weight", weight=number))
        world.book.replace(origin(str(number)), [claim])
    plan = world.plan(INSTANCE)
    assert not plan.operations
    assert len(plan.problems) == 2


def test_a_reference_waits_for_its_target(world: PlanningWorld) -> None:
    instance(world)
    world.book.replace(GROUP, [refer(INSTANCE, T1)])
    plan = world.plan(INSTANCE)
    assert not plan.operations
    assert plan.waits_for == {T1}


def test_a_holder_that_is_not_there_is_waited_for(world: PlanningWorld) -> None:
    world.book.replace(GROUP, [refer(INSTANCE, T1)])
    assert world.plan(INSTANCE).waits_for == {INSTANCE}


def test_a_shared_list_gets_one_reference_at_a_time(world: PlanningWorld) -> None:
    users = world.put("target", "users")
    holder = router(world, users)
    claims = [owned("target", "t1", "r"), owned("target", "t2", "r")]
    keys = [world.make(claim) for claim in claims]
    world.book.replace(ROUTER_KEY, [*claims, refer(ROUTER, T1), refer(ROUTER, T2)])
    assert world.plan(ROUTER).operations == tuple(
        AddReference(holder, ROUTER, "target", ReferenceValue(key, (name,), None))
        for key, name in zip(keys, ("t1", "t2"), strict=True)
    )


def test_only_our_entries_leave_a_shared_list(world: PlanningWorld) -> None:
    users = world.put("target", "users")
    ours = world.make(owned("target", "t1", "r"))
    holder = router(world, users, ours)
    assert world.plan(ROUTER).operations == (RemoveReference(holder, ROUTER, "target", ours),)


def test_an_entry_is_ours_by_the_pattern_too(world: PlanningWorld) -> None:
    service, users = world.put("instance", "g", "service-1"), world.put("instance", "g", "users")
    holder = world.put("router", "r", references={"instance": [(service, None), (users, None)]})
    assert world.plan(ROUTER).operations == (RemoveReference(holder, ROUTER, "instance", service),)


def test_another_attribute_is_put_on_our_entry_and_never_on_a_users(world: PlanningWorld) -> None:
    service, users = world.put("instance", "g", "service-1"), world.put("instance", "g", "users")
    holder = world.put("router", "r", references={"instance": [(service, None), (users, None)]})
    wanted = struct("Direction", import_export="import")
    names = [Name("instance", ("g", name)) for name in ("service-1", "users")]
    world.book.replace(ROUTER_KEY, [refer(ROUTER, name, wanted) for name in names])
    entry = ReferenceValue(service, ("g", "service-1"), wanted)
    assert world.plan(ROUTER).operations == (AddReference(holder, ROUTER, "instance", entry, relaxed=True),)


def test_a_reference_that_looks_like_a_users_is_a_problem(world: PlanningWorld) -> None:
    world.make(shared("target", "t1"))
    router(world)
    world.book.replace(ROUTER_KEY, [shared("target", "t1"), refer(ROUTER, T1)])
    plan = world.plan(ROUTER)
    assert not plan.operations
    assert [p.reason for p in plan.problems] == ["Unrecognisable"]


def test_between_objects_that_we_did_not_make_references_never_block_a_delete(world: PlanningWorld) -> None:
    users, ours = world.put("target", "t1"), world.make(shared("target", "t2"))
    instance(world)
    world.book.replace(GROUP, [shared("target", "t2"), refer(INSTANCE, T1), refer(INSTANCE, T2)])
    (update,) = world.plan(INSTANCE).operations
    assert isinstance(update, Update)
    assert {entry.key for entry in update.references["target"]} == {users, ours}
    assert update.relaxed == (users,)


def test_a_derived_reference_needs_no_relaxing(world: PlanningWorld) -> None:
    world.put("group", "group-1")
    world.put("router", "r")
    world.book.replace(ROUTER_KEY, [refer(ROUTER, Name("group", ("group-1",)))])
    (add,) = world.plan(ROUTER).operations
    assert isinstance(add, AddReference)
    assert not add.relaxed


def test_an_object_is_deleted_only_when_nobody_refers_to_it(world: PlanningWorld) -> None:
    target = world.make(shared("target", "t1"))
    instance(world, target)
    plan = world.plan(T1)
    assert not plan.operations
    assert plan.waits_for == plan.wakes == {INSTANCE}
    assert not plan.problems
    world.carry_out(world.plan(INSTANCE))
    assert world.plan(T1).operations == (Delete(target, T1, world.stored[target].mod_revision),)


def test_a_users_reference_to_what_is_to_be_deleted_is_a_problem(world: PlanningWorld) -> None:
    target = world.make(shared("target", "t1"))
    world.put("watcher", "w", references={"target": [(target, None)]})
    plan = world.plan(T1)
    assert not plan.operations
    assert [p.reason for p in plan.problems] == ["StillReferred"]
    assert "watcher w" in plan.problems[0].message


def test_a_users_child_of_what_is_to_be_deleted_is_a_problem(world: PlanningWorld) -> None:
    target = world.make(shared("target", "t1"))
    world.put("leaf", "t1", "leaf", parent=Parent(target, ("t1",)))
    assert [p.reason for p in world.plan(T1).problems] == ["StillReferred"]


@pytest.mark.parametrize("made", [False, True])
def test_a_reference_that_a_claim_keeps_is_a_problem_of_the_deleted_target(world: PlanningWorld, made: bool) -> None:
    target = owned("target", "o", "r")
    references = {"target": [(world.make(target), None)]}
    claims: list[Claim] = [owned("router", "r", "g")] if made else []
    if made:
        world.make(owned("router", "r", "g"), references=references)
    else:
        world.put("router", "r", references=references)
    world.book.replace(GROUP, [*claims, RelationClaim(ROUTER, "target", kept=True)])
    assert not world.plan(ROUTER).operations
    plan = world.plan(target.name)
    assert [p.reason for p in plan.problems] == ["StillReferred"]
    assert "router r" in plan.problems[0].message
    assert plan.waits_for == {ROUTER}
    world.book.replace(GROUP, claims)
    assert not world.plan(target.name).problems
    world.carry_out(world.plan(ROUTER))
    assert isinstance(world.plan(target.name).operations[0], Delete)


def test_a_users_dropped_reference_does_not_keep_its_target(world: PlanningWorld) -> None:
    target = world.make(shared("target", "t1"))
    router(world, target)
    assert [p.reason for p in world.plan(T1).problems] == ["StillReferred"]
    world.book.replace(GROUP, [RelationClaim(ROUTER, "target", unwanted=(T1,))])
    assert not world.plan(T1).problems
    world.carry_out(world.plan(ROUTER))
    assert isinstance(world.plan(T1).operations[0], Delete)


def test_a_disputed_reference_is_a_problem_of_what_is_to_be_deleted(world: PlanningWorld) -> None:
    service = Name("instance", ("service-1",))
    held = world.make(owned("instance", "service-1", "g"))
    world.put("router", "r", references={"instance": [(held, None)]})
    world.book.replace(GROUP, [refer(ROUTER, service, struct("Direction", import_export="import"))])
    assert not world.plan(service).problems
    world.book.replace(origin("h"), [refer(ROUTER, service, BOTH)])
    assert [p.reason for p in world.plan(service).problems] == ["StillReferred"]


def test_a_claimed_reference_to_what_is_to_be_deleted_is_dropped(world: PlanningWorld) -> None:
    target = world.make(shared("target", "t1"))
    holder = instance(world, target)
    world.book.replace(GROUP, [refer(INSTANCE, T1)])
    plan = world.plan(INSTANCE)
    assert plan.operations == (Update(holder, INSTANCE, {}, {"target": ()}, world.revision),)
    assert plan.waits_for == {T1}


def test_orphans_that_refer_to_each_other_let_go_first(world: PlanningWorld) -> None:
    one = world.make(owned("instance", "a", "g"))
    two = world.make(owned("instance", "b", "g"), references={"instance": [(one, None)]})
    world.make(owned("instance", "a", "g"), references={"instance": [(two, None)]})
    names = [Name("instance", (name,)) for name in "ab"]
    for _ in range(2):
        for name in names:
            world.carry_out(world.plan(name))
    assert {key.kind for key in world.stored} == {"group"}


def test_a_shared_target_that_gets_an_owner_stays_for_its_referrers(world: PlanningWorld) -> None:
    """To replace it would take it from its holders, and make the owner wait for one that can't be written."""
    claim, holder = shared("target", "t"), Name("instance", ("g", "i"))
    target = world.make(claim)
    world.put("instance", *holder.fq_name, references={"target": [(target, struct("Direction"))]})
    world.book.replace(origin("lister"), [claim, refer(holder, claim.name)])
    other = Name("instance", ("g", "other"))
    world.put("instance", *other.fq_name)
    world.book.replace(origin("owner"), [owned("target", "t", "owner"), refer(other, claim.name)])
    assert world.plan(claim.name).operations == ()
    assert world.plan(holder).operations == ()
    (update,) = world.plan(other).operations
    assert isinstance(update, Update)
    assert [entry.key for entry in update.references["target"]] == [target]


def test_a_shared_target_is_replaced_for_an_owner_that_needs_its_uuid(world: PlanningWorld) -> None:
    """A router's list holds users' references, too: the uuid identifies its own."""
    claim = shared("target", "t")
    target = world.make(claim)
    router = world.put("router", "r")
    mine = ResourceClaim(claim.name, None, router.uuid, ())
    world.book.replace(router, [mine, refer(Name("router", ("r",)), claim.name)])
    assert world.plan(claim.name).operations == (Delete(target, claim.name, world.stored[target].mod_revision),)
