"""Which finalizers a resource must have, and what must be gone before an object is deleted (docs/engine.md §14)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from intentc.model import (
    MARK_KEY,
    SHARED,
    Claim,
    Create,
    Delete,
    FinalizerClaim,
    Key,
    Mark,
    Name,
    ResourceClaim,
    Schema,
    Update,
    object_uuid,
)
from intentc.model.metadata import FINALIZERS
from intentc.model.schema import KindSpec, build_kind
from intentc.model.types import TypeTable
from intentc.planning import Assumed, ClaimBook, Plan, Planner
from tests.support.naive_world import NaiveWorld

OURS, THEIRS = "example.com/farm", "example.com/other"
SCHEMA = Schema(
    build_kind(
        msgspec.convert({"group": "example.com", "shape": "kubernetes", **declared}, KindSpec), TypeTable({}), ""
    )
    for declared in (
        {"kind": "farm", "properties": {"crops": "string"}},
        {
            "kind": "crate",
            "system": True,
            "finalizers": ["example.com/carried-out"],
            "phased": "phase",
            "properties": {"phase": {"type": "integer", "writer": "compiler"}},
        },
        {"kind": "sack", "system": True, "ours": ".*", "only_claimed": ".*", "properties": {}},
    )
)
NORTH, SOUTH = Key("farm", "f-north"), Key("farm", "f-south")
FARMS = {NORTH: Name("farm", ("valley", "north")), SOUTH: Name("farm", ("valley", "south"))}
WHEN = "2026-01-01T00:00:00Z"


class World(NaiveWorld):
    """Farms and crates as stored, and the claims on them. ``under_way``: crates that are being created."""

    revision = 1

    def __init__(self) -> None:
        super().__init__(SCHEMA)
        self.book = ClaimBook()
        self.book.complete = True
        self.assumed = Assumed(SCHEMA, self, clock=lambda: 0.0)
        self.planner = Planner(
            SCHEMA, "test", dict.fromkeys(SCHEMA.kinds, "toy"), self.book, self.assumed, lambda origin: False,
            finalizers=[OURS], made_for=lambda origin: [name for name, of in self.owners.items() if of == origin],
        )  # fmt: skip
        self.owners: dict[Name, str] = {}

    def farm(self, key: Key, *finalizers: str, ending: bool = False, made_by: str = "", uuid: str = "") -> None:
        """``made_by``: the installation in its mark, none if empty. ``uuid``: another one than the key's."""
        metadata: dict[str, Any] = {"finalizers": list(finalizers)}
        if ending:
            metadata["deletionTimestamp"] = WHEN
        data: dict[str, Any] = {"uuid": uuid or key.uuid, "fq_name": list(FARMS[key].fq_name), "metadata": metadata}
        if made_by:
            mark = {"key": MARK_KEY, "value": str(Mark(made_by, "toy", SHARED))}
            data["annotations"] = {"key_value_pair": [mark]}
        self.store("farm", data)

    def crate(self, name: str, phase: int, owner: Key = NORTH, *, stored: bool = True, ending: bool = False) -> Name:
        found = Name("crate", ("valley", name))
        self.owners[found] = owner.uuid
        if stored:
            mark = {"key_value_pair": [{"key": MARK_KEY, "value": str(Mark("test", "toy", owner.uuid))}]}
            metadata = {"finalizers": ["example.com/carried-out"], **({"deletionTimestamp": WHEN} if ending else {})}
            uuid = object_uuid("test", found, owner.uuid)
            data = {"uuid": uuid, "fq_name": list(found.fq_name), "phase": phase, "annotations": mark}
            self.store("crate", {**data, "metadata": metadata})
        return found

    def claims(self, origin: Key, *claims: Claim) -> None:
        self.book.replace(origin, claims)

    def finalizers(self, key: Key) -> tuple[tuple[str, ...] | None, frozenset[Name]]:
        """The finalizers that the plan of a farm writes, None if none, and what it waits for."""
        plan = self.planner.plan(FARMS[key])
        written = [operation.properties for operation in plan.operations if isinstance(operation, Update)]
        return (written[0][FINALIZERS] if written else None), plan.waits_for


def wants(name: Name, owner: Key = NORTH, phase: int = 1) -> ResourceClaim:
    return ResourceClaim(name, None, owner.uuid, (("phase", phase),))


def finalizer(holder: Key = NORTH) -> FinalizerClaim:
    return FinalizerClaim(FARMS[holder], OURS)


def verbs(plan: Plan) -> list[type]:
    return [type(operation) for operation in plan.operations]


def test_a_claimed_finalizer_is_added_after_those_of_others() -> None:
    world = World()
    world.farm(NORTH, THEIRS)
    world.claims(NORTH, finalizer())
    assert world.finalizers(NORTH) == ((THEIRS, OURS), frozenset())


def test_to_a_farm_that_is_being_deleted_none_is_added() -> None:
    world = World()
    world.farm(NORTH, THEIRS, ending=True)
    world.claims(SOUTH, finalizer())
    assert world.finalizers(NORTH) == (None, frozenset())


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "being created"])
def test_one_that_nobody_claims_stays_while_anything_carries_the_mark(stored: bool) -> None:
    world = World()
    world.farm(NORTH, OURS, THEIRS)
    crate = world.crate("one", 1, stored=stored)
    assert world.finalizers(NORTH) == (None, frozenset({crate}))
    world.owners.clear()
    assert world.finalizers(NORTH) == ((THEIRS,), frozenset())


@pytest.mark.parametrize("holder", [NORTH, SOUTH], ids=["on itself", "on another farm"])
def test_a_claim_of_a_farm_that_is_being_deleted_holds_while_it_has_crates(holder: Key) -> None:
    world = World()
    world.farm(SOUTH, OURS)
    world.farm(NORTH, OURS, ending=True)
    world.claims(NORTH, finalizer(holder))
    crate = world.crate("one", 1)
    assert world.finalizers(holder) == (None, frozenset({crate}))
    world.owners.clear()
    assert world.finalizers(holder) == ((), frozenset())


def test_a_claim_of_another_farm_delays_the_end() -> None:
    world = World()
    world.farm(NORTH, OURS, ending=True)
    world.farm(SOUTH)
    world.claims(SOUTH, finalizer(NORTH))
    assert world.finalizers(NORTH) == (None, frozenset())
    world.claims(SOUTH)
    assert world.finalizers(NORTH) == ((), frozenset())


GIVEN = object_uuid("test", FARMS[NORTH], SHARED)
"""The uuid of a farm that we made."""


@pytest.mark.parametrize("claimed", [False, True], ids=["that nobody claims", "that is claimed again"])
def test_a_farm_of_ours_that_is_being_deleted_loses_our_finalizer(claimed: bool) -> None:
    world = World()
    world.farm(NORTH, OURS, THEIRS, ending=True, made_by="test", uuid=GIVEN)
    if claimed:
        world.claims(SOUTH, ResourceClaim(FARMS[NORTH], None, SHARED))
    assert world.finalizers(NORTH) == ((THEIRS,), frozenset({FARMS[NORTH]}))
    world.farm(NORTH, THEIRS, ending=True, made_by="test", uuid=GIVEN)
    assert world.finalizers(NORTH) == (None, frozenset({FARMS[NORTH]}))


def test_a_farm_of_ours_that_is_being_deleted_waits_for_its_crates() -> None:
    world = World()
    world.farm(NORTH, OURS, ending=True, made_by="test", uuid=GIVEN)
    crate = world.crate("one", 1, Key("farm", GIVEN))
    assert world.finalizers(NORTH) == (None, frozenset({FARMS[NORTH], crate}))


@pytest.mark.parametrize("ending", [False, True], ids=["that stays", "that is being deleted"])
def test_a_users_farm_whose_name_an_intent_claims_loses_our_finalizer(ending: bool) -> None:
    world = World()
    world.farm(NORTH, OURS, ending=ending)
    world.farm(SOUTH)
    world.claims(SOUTH, ResourceClaim(FARMS[NORTH], None, SOUTH.uuid))
    assert world.finalizers(NORTH) == ((), frozenset())
    assert [problem.reason for problem in world.planner.plan(FARMS[NORTH]).problems] == ["NameTaken"]


def test_a_users_farm_whose_name_an_intent_claims_gets_its_own_finalizer() -> None:
    world = World()
    world.farm(NORTH)
    world.farm(SOUTH)
    world.claims(NORTH, finalizer())
    world.claims(SOUTH, ResourceClaim(FARMS[NORTH], None, SOUTH.uuid))
    assert world.finalizers(NORTH) == ((OURS,), frozenset())


@pytest.mark.parametrize("made_by", ["test", "another"], ids=["a copy", "of another installation"])
@pytest.mark.parametrize("claimed", [False, True], ids=["unclaimed", "claimed"])
def test_our_finalizer_is_removed_from_a_deleted_resource_whoever_made_it(made_by: str, claimed: bool) -> None:
    world = World()
    if claimed:
        world.claims(SOUTH, ResourceClaim(FARMS[NORTH], None, SHARED))
    world.farm(NORTH, OURS, THEIRS, made_by=made_by)
    assert world.finalizers(NORTH) == (None, frozenset()), "until then it is left alone"
    world.farm(NORTH, OURS, THEIRS, ending=True, made_by=made_by)
    assert world.finalizers(NORTH) == ((THEIRS,), frozenset())
    crate = world.crate("one", 1)
    assert world.finalizers(NORTH) == (None, frozenset({crate}))


def test_a_server_object_under_deletion_only_loses_our_finalizer() -> None:
    world, name = World(), Name("sack", ("valley", "one"))
    data = {"uuid": "s-one", "fq_name": list(name.fq_name)}
    world.store("sack", {**data, "metadata": {"finalizers": [OURS]}})
    assert verbs(world.planner.plan(name)) == [Delete]
    world.store("sack", {**data, "metadata": {"finalizers": [OURS], "deletionTimestamp": WHEN}})
    (update,) = world.planner.plan(name).operations
    assert isinstance(update, Update) and update.properties == {FINALIZERS: ()}
    assert world.planner.plan(name).waits_for == {name}


@pytest.mark.parametrize("made_by", ["", "test", "another"])
def test_a_pass_finds_farms_that_are_being_deleted_with_our_finalizer(made_by: str) -> None:
    world = World()
    world.farm(NORTH, OURS, ending=True, made_by=made_by)
    assert names(world.planner.orphans()) == ["north"]


def test_nothing_is_created_before_the_finalizers_of_its_evaluation_are_stored() -> None:
    world = World()
    world.farm(NORTH)
    world.farm(SOUTH)
    crate = Name("crate", ("valley", "one"))
    world.claims(NORTH, wants(crate), finalizer(NORTH), finalizer(SOUTH))
    assert world.planner.plan(crate) == Plan(crate, waits_for=frozenset(FARMS.values()), is_in_place=True, revision=0)
    world.farm(NORTH, OURS)
    assert world.planner.plan(crate).waits_for == {FARMS[SOUTH]}
    world.farm(SOUTH, OURS)
    assert verbs(world.planner.plan(crate)) == [Create]


def test_one_that_is_just_created_has_the_finalizers_of_its_kind() -> None:
    """Its deletion is acknowledged before its creation is seen: it is not gone."""
    world = World()
    world.farm(NORTH)
    crate = Name("crate", ("valley", "one"))
    world.claims(NORTH, wants(crate))
    (create,) = world.planner.plan(crate).operations
    world.assumed.wrote(create, 5)
    world.claims(NORTH)
    (delete,) = world.planner.plan(crate).operations
    assert isinstance(delete, Delete)
    world.assumed.wrote(delete, 6)
    actual = world.assumed.actual(crate)
    assert actual is not None and actual.is_being_deleted
    assert world.planner.plan(crate) == Plan(crate, waits_for=frozenset({crate}), revision=5)


def test_the_highest_phase_is_deleted_first() -> None:
    world = World()
    one, two, same = world.crate("one", 1), world.crate("two", 2), world.crate("same", 2)
    assert world.planner.plan(one).waits_for == {two, same}
    assert verbs(world.planner.plan(two)) == verbs(world.planner.plan(same)) == [Delete]
    world.crate("two", 2, ending=True)
    assert world.planner.plan(two).waits_for == {two}, "it is being deleted, and not deleted again"
    assert two in world.planner.plan(one).waits_for


def test_an_object_being_created_is_waited_for_and_a_claimed_one_is_not() -> None:
    world = World()
    one, two, new = world.crate("one", 1), world.crate("two", 2), world.crate("new", 3, stored=False)
    world.claims(NORTH, wants(two, phase=2))
    assert world.planner.plan(one).waits_for == {new}
    del world.owners[new]
    assert verbs(world.planner.plan(one)) == [Delete]


def test_owners_don_t_wait_for_each_other() -> None:
    world = World()
    one, _ = world.crate("one", 1), world.crate("two", 2, SOUTH)
    assert verbs(world.planner.plan(one)) == [Delete]


def test_an_object_claimed_again_during_its_deletion_waits_for_its_end() -> None:
    world = World()
    one = world.crate("one", 1, ending=True)
    world.claims(NORTH, wants(one, phase=7))
    assert world.planner.plan(one) == Plan(one, waits_for=frozenset({one}), revision=1)


def names(found: Iterable[Name]) -> list[str]:
    return sorted(name.fq_name[-1] for name in found)


def test_a_pass_finds_farms_with_finalizers_that_nobody_claims() -> None:
    world = World()
    world.farm(NORTH, OURS)
    world.farm(SOUTH, THEIRS)
    assert names(world.planner.orphans()) == ["north"]
