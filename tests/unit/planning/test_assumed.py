"""Unseen writes count for planning until their echo arrives or the object is read back."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from intentc.model import (
    AddReference,
    Create,
    Delete,
    HeldInput,
    Key,
    Mark,
    Name,
    ReferenceValue,
    RemoveReference,
    Update,
)
from tests.unit.planning.planning_world import (
    INSTALLATION,
    PlanningWorld,
    child,
    origin,
    our_uuid,
    owned,
    parent,
    refer,
    rules,
    shared,
)

NAME = Name("ruleset", ("g", "rules"))
KEY = Key("ruleset", our_uuid(NAME, "uuid-g"))
CREATE = Create(KEY, NAME, parent("g"), Mark(INSTALLATION, "toy", "uuid-g"), {"rules": rules(1)}, {})


class Stored(NamedTuple):
    value: bytes
    revision: int | None


@pytest.fixture
def world() -> PlanningWorld:
    world = PlanningWorld()
    world.put("group", "g")
    world.book.replace(origin("g"), [child("g", rules=rules(1))])
    return world


def update(world: PlanningWorld, port: int) -> Update:
    return Update(KEY, NAME, {"rules": rules(port)}, {}, world.stored[KEY].mod_revision)


def read_back(world: PlanningWorld, key: Key, stored: Stored | None) -> None:
    """With nothing seen of the object between the question and the answer."""
    world.assumed.read_back(key, stored, world.assumed.seen_at(key))


def seen_port(world: PlanningWorld) -> int | None:
    actual = world.assumed.actual(NAME)
    return actual.value("rules").rule[0].port if actual is not None else None


def test_a_created_object_is_there_before_its_event(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, world.revision + 1)
    actual = world.assumed.actual(NAME)
    assert actual is not None
    assert (actual.key, actual.revision, actual.mark) == (KEY, world.revision + 1, CREATE.mark)
    assert not world.plan(NAME).operations


def test_a_deleted_object_is_gone_before_its_event(world: PlanningWorld) -> None:
    world.make(child("g"))
    world.assumed.wrote(Delete(KEY, NAME, world.revision), world.revision + 1)
    assert world.assumed.actual(NAME) is None
    assert not world.assumed.present(KEY)


def test_an_assumption_ends_with_the_event_at_its_revision(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(1)))
    world.assumed.wrote(update(world, 2), world.revision + 5)
    world.assumed.applied(KEY, world.revision + 4)
    assert seen_port(world) == 2
    world.assumed.applied(KEY, world.revision + 5)
    assert seen_port(world) == 1
    assert len(world.assumed) == 0


def test_an_assumption_without_a_revision_ends_with_the_first_event_of_its_key(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(1)))
    world.assumed.wrote(update(world, 2), None)
    world.assumed.applied(Key("ruleset", "another"), world.revision + 1)
    assert seen_port(world) == 2
    world.assumed.applied(KEY, world.revision + 1)
    assert seen_port(world) == 1


def test_the_echo_of_an_earlier_write_does_not_end_a_later_one(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(1)))
    world.assumed.wrote(update(world, 2), world.revision + 1)
    world.assumed.wrote(update(world, 3), None)
    world.assumed.applied(KEY, world.revision + 1)
    assert seen_port(world) == 3
    world.assumed.applied(KEY, world.revision + 2)
    assert seen_port(world) == 1


def test_a_write_whose_echo_came_before_the_answer_is_not_assumed(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(2)))
    assert world.assumed.wrote(Update(KEY, NAME, {"rules": rules(9)}, {}, 1), world.revision) is True
    assert world.assumed.wrote(Update(KEY, NAME, {"rules": rules(9)}, {}, 1), None) is True
    assert world.assumed.wrote(CREATE, None) is True
    assert len(world.assumed) == 0


def test_a_listing_ends_what_it_covers(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, world.revision + 1)
    world.assumed.listed(world.revision)
    assert len(world.assumed) == 1
    world.assumed.listed(world.revision + 1)
    assert len(world.assumed) == 0


def test_an_object_deleted_and_made_again_is_there_until_both_events_came(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(7)))
    world.assumed.wrote(Delete(KEY, NAME, world.revision), world.revision + 1)
    world.assumed.wrote(CREATE, world.revision + 2)
    world.remove(KEY)
    world.assumed.applied(KEY, world.revision)
    assert seen_port(world) == 1


def test_a_former_object_of_the_name_does_not_hide_the_new_one(world: PlanningWorld) -> None:
    former = world.put("ruleset", "g", "rules", uuid="former")
    world.assumed.wrote(Delete(former, NAME, world.revision), world.revision + 1)
    world.assumed.wrote(CREATE, world.revision + 2)
    actual = world.assumed.actual(NAME)
    assert actual is not None
    assert actual.key == KEY


def test_references_are_added_and_removed_before_their_events(world: PlanningWorld) -> None:
    one, two = world.put("target", "t1"), world.put("target", "t2")
    router = world.put("router", "r", references={"target": [(one, None)]})
    name = Name("router", ("r",))
    world.assumed.wrote(AddReference(router, name, "target", ReferenceValue(two, ("t2",))), world.revision + 1)
    world.assumed.wrote(RemoveReference(router, name, "target", one), world.revision + 2)
    actual = world.assumed.actual(name)
    assert actual is not None
    assert [entry.uuid for entry in actual.references("target")] == [two.uuid]
    assert world.assumed.holders(two, "router", "target") == (router,)
    assert world.assumed.holders(one, "router", "target") == ()


def test_children_of_created_objects_hold_their_parent(world: PlanningWorld) -> None:
    target = world.put("target", "t")
    leaf = owned("leaf", "l", "g")
    create = Create(Key("leaf", "uuid-l"), leaf.name, parent("t")._replace(key=target), CREATE.mark, {}, {})
    world.assumed.wrote(create, world.revision + 1)
    assert world.assumed.holders(target, "leaf", "parent") == (Key("leaf", "uuid-l"),)
    world.assumed.applied(Key("leaf", "uuid-l"), world.revision + 1)
    assert world.assumed.holders(target, "leaf", "parent") == ()


def test_a_write_that_is_not_seen_in_two_seconds_is_to_be_read_back(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, world.revision + 1)
    world.now = 1.9
    assert world.assumed.expired() == ()
    world.now = 2.0
    assert world.assumed.expired() == ((KEY, NAME),)
    assert world.assumed.expired() == ()
    world.now = 4.0
    assert world.assumed.expired() == ((KEY, NAME),)


def test_a_write_that_was_seen_is_not_read_back(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, world.revision + 1)
    world.assumed.applied(KEY, world.revision + 1)
    world.now = 3.0
    assert world.assumed.expired() == ()


def test_what_reading_back_gives_replaces_what_was_assumed(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, None)
    value = b'{"fq_name":["g","rules"],"rules":{"rule":[{"port":5}]}}'
    read_back(world, KEY, Stored(value, world.revision + 3))
    assert seen_port(world) == 5
    world.assumed.applied(KEY, world.revision + 3)
    assert world.assumed.actual(NAME) is None


def test_an_object_that_reading_back_did_not_find_is_gone(world: PlanningWorld) -> None:
    world.make(child("g"))
    read_back(world, KEY, None)
    assert world.assumed.actual(NAME) is None
    world.assumed.applied(KEY, world.revision + 1)
    assert world.assumed.actual(NAME) is not None


def test_an_object_that_came_while_its_absence_was_read_is_there(world: PlanningWorld) -> None:
    """The answer is older than the event; no later one would correct it."""
    seen_at = world.assumed.seen_at(KEY)
    world.make(child("g"))
    world.assumed.read_back(KEY, None, seen_at)
    assert world.assumed.actual(NAME) is not None


def test_an_object_that_went_while_it_was_read_is_gone(world: PlanningWorld) -> None:
    world.make(child("g"))
    resource, seen_at = world.stored[KEY], world.assumed.seen_at(KEY)
    del world.stored[KEY]
    world.assumed.read_back(KEY, Stored(resource.raw, resource.mod_revision), seen_at)
    assert world.assumed.actual(NAME) is None


def test_a_write_that_did_not_happen_is_forgotten_by_reading_back(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, None)
    read_back(world, KEY, None)
    assert isinstance(world.plan(NAME).operations[0], Create)
    assert len(world.assumed) == 0


def test_reading_back_what_the_cache_knows_already_assumes_nothing(world: PlanningWorld) -> None:
    world.make(child("g", rules=rules(1)))
    resource = world.stored[KEY]
    read_back(world, KEY, Stored(resource.raw, resource.mod_revision))
    read_back(world, KEY, Stored(resource.raw, None))
    assert len(world.assumed) == 0


def test_an_object_read_back_that_cannot_be_read_is_held(world: PlanningWorld) -> None:
    world.make(child("g"))
    read_back(world, KEY, Stored(b"{", world.revision + 1))
    with pytest.raises(HeldInput):
        world.assumed.actual(NAME)
    assert world.assumed.present(KEY)


def test_a_target_that_was_just_created_can_be_referred_to(world: PlanningWorld) -> None:
    holder, target = Name("instance", ("g", "i")), Name("target", ("t",))
    world.put("instance", "g", "i")
    world.book.replace(origin("g"), [shared("target", "t"), refer(holder, target)])
    assert world.plan(holder).waits_for == {target}
    (create,) = world.plan(target).operations
    world.assumed.wrote(create, world.revision + 1)
    (change,) = world.plan(holder).operations
    assert isinstance(change, Update)
    assert [entry.key for entry in change.references["target"]] == [create.key]


def test_an_object_that_we_deleted_does_not_hide_one_that_somebody_made_meanwhile(world: PlanningWorld) -> None:
    world.assumed.wrote(CREATE, world.revision + 5)
    world.assumed.wrote(Delete(KEY, NAME, world.revision + 5), world.revision + 6)
    users = world.put("ruleset", "g", "rules", uuid="users")
    actual = world.assumed.actual(NAME)
    assert actual is not None
    assert actual.key == users


def test_a_holder_that_cannot_be_read_still_holds(world: PlanningWorld) -> None:
    target = world.put("target", "t")
    router = world.put("router", "r", references={"target": [(target, None)]})
    read_back(world, router, Stored(b"{", world.revision + 1))
    assert world.assumed.holders(target, "router", "target") == (router,)
