"""What a stored object shows that nobody claims is found whatever else keeps it from being written
(docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.model import SHARED, Key, Mark, Name, PropertyClaim
from tests.unit.planning.planning_world import INSTALLATION, PlanningWorld, origin, refer, shared, struct

INSTANCE, ROUTER = Name("instance", ("g", "i")), Name("router", ("r",))
T1, T2 = Name("target", ("t1",)), Name("target", ("t2",))
A, B = origin("a"), origin("b")


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    return world


def target(world: PlanningWorld, name: Name, **fields: str) -> Key:
    """A target of ours that several intents share."""
    return world.make(shared("target", *name.fq_name, **fields))


def test_an_absent_object_shows_nothing(world: PlanningWorld) -> None:
    assert not world.planner.shows_unclaimed(T1)


def test_one_that_cannot_be_read_may_show_anything(world: PlanningWorld) -> None:
    world.unreadable.add(target(world, T1))
    assert world.planner.shows_unclaimed(T1)


def test_the_existence_of_a_shared_object_shows_nothing(world: PlanningWorld) -> None:
    target(world, T1)
    assert not world.planner.shows_unclaimed(T1)


def test_the_values_of_an_object_of_ours_that_nobody_claims_are_shown(world: PlanningWorld) -> None:
    target(world, T1, display_name="one")
    assert world.planner.shows_unclaimed(T1)


def test_a_copy_of_our_object_is_a_users(world: PlanningWorld) -> None:
    world.put("target", "t1", mark=Mark(INSTALLATION, "toy", SHARED), display_name="one")
    assert not world.planner.shows_unclaimed(T1)


def test_a_value_of_ours_is_shown_until_another_replaces_it(world: PlanningWorld) -> None:
    world.put("router", "r", note="one")
    assert world.planner.shows_unclaimed(ROUTER)
    world.book.replace(A, [PropertyClaim(ROUTER, "note", "two")])
    assert world.planner.shows_unclaimed(ROUTER)
    world.book.replace(A, [PropertyClaim(ROUTER, "note", "one")])
    assert not world.planner.shows_unclaimed(ROUTER)


def test_what_is_only_to_be_added_shows_nothing(world: PlanningWorld) -> None:
    world.put("router", "r")
    target(world, T1)
    world.book.replace(A, [PropertyClaim(ROUTER, "note", "one"), shared("target", "t1"), refer(ROUTER, T1)])
    assert world.plan(ROUTER).operations
    assert not world.planner.shows_unclaimed(ROUTER)


@pytest.mark.parametrize("stored", ["one", "two", "three", "none"])
def test_a_disputed_value_that_no_contributor_claims_is_unclaimed(world: PlanningWorld, stored: str) -> None:
    world.put("instance", "g", "i", note=stored)
    world.book.replace(A, [PropertyClaim(INSTANCE, "note", "one")])
    world.book.replace(B, [PropertyClaim(INSTANCE, "note", "two")])
    assert not world.plan(INSTANCE).operations
    assert world.planner.shows_unclaimed(INSTANCE) == (stored == "three")


@pytest.mark.parametrize("stored", [1, 2, 3])
def test_a_disputed_attribute_that_no_contributor_claims_is_unclaimed(world: PlanningWorld, stored: int) -> None:
    other = Name("instance", ("g", "other"))
    key = world.put("instance", *other.fq_name)
    world.put("instance", "g", "i", references={"instance": [(key, struct("Weight", weight=stored))]})
    for contributor, weight in ((A, 1), (B, 2)):
        world.book.replace(contributor, [refer(INSTANCE, other, struct("Weight", weight=weight))])
    assert world.plan(INSTANCE).problems and not world.plan(INSTANCE).operations
    assert world.planner.shows_unclaimed(INSTANCE) == (stored == 3)


def test_an_entry_that_nobody_claims_is_shown(world: PlanningWorld) -> None:
    keys = [target(world, name) for name in (T1, T2)]
    world.put("instance", "g", "i", references={"target": [(key, struct("Direction")) for key in keys]})
    world.book.replace(A, [*(shared("target", *name.fq_name) for name in (T1, T2)), refer(INSTANCE, T1)])
    assert world.planner.shows_unclaimed(INSTANCE)
    world.book.replace(B, [refer(INSTANCE, T2)])
    assert not world.planner.shows_unclaimed(INSTANCE)


def test_in_a_shared_list_only_our_entries_are_shown(world: PlanningWorld) -> None:
    ours, users = world.put("router", "ours"), world.put("router", "users")
    entries = [(users, struct("Weight", weight=5))]
    world.put("router", "r", references={"router": entries})
    assert not world.planner.shows_unclaimed(ROUTER)
    world.put("router", "r", references={"router": [*entries, (ours, struct("Weight", weight=1))]})
    assert world.planner.shows_unclaimed(ROUTER)


def test_what_stays_for_a_held_intent_is_shown(world: PlanningWorld) -> None:
    world.put("router", "r", note="one")
    world.book.replace(A, [PropertyClaim(ROUTER, "note", "one")])
    world.book.replace(A, [])
    world.book.replace(B, [PropertyClaim(ROUTER, "color", "red")])
    world.held.add(B)
    assert world.plan(ROUTER).deferred
    assert world.planner.shows_unclaimed(ROUTER)
