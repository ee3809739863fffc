"""An object that many origins claim is merged once for all that refer to it, and again when its claims change."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Delete, Kind, Name, Update
from intentc.planning import Desired, merge, planner
from tests.unit.planning.planning_world import PlanningWorld, origin, refer, shared

TARGET = shared("target", "t")
ORIGINS = [origin(f"g{number}") for number in range(20)]


def instance(number: int) -> Name:
    return Name("instance", ("g", f"i{number}"))


@pytest.fixture
def world() -> PlanningWorld:
    """Twenty groups want the target, each with a reference from an instance of its own."""
    world = PlanningWorld()
    for number, each in enumerate(ORIGINS):
        world.put("group", each.uuid.removeprefix("uuid-"))
        claim = shared("instance", f"i{number}")
        world.book.replace(each, [TARGET, refer(claim.name, TARGET.name), claim])
    world.carry_out(world.plan(TARGET.name))
    return world


def test_it_is_merged_once_for_all_that_refer_to_it(world: PlanningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[Name] = []

    def counted(kind: Kind, name: Name, *others: Any) -> Desired:
        merged.append(name)
        return merge(kind, name, *others)

    monkeypatch.setattr(planner, "merge", counted)
    for name in [name for name in world.book.names() if name.kind == "instance"]:
        assert world.plan(name).operations
    assert merged.count(TARGET.name) <= 1


def test_it_is_deleted_when_the_last_origin_no_longer_wants_it(world: PlanningWorld) -> None:
    for each in ORIGINS[:-1]:
        world.book.drop(each)
        assert not world.plan(TARGET.name).operations
    world.book.drop(ORIGINS[-1])
    (operation,) = world.plan(TARGET.name).operations
    assert isinstance(operation, Delete)


def test_a_claim_that_changes_counts_at_once(world: PlanningWorld) -> None:
    other = shared("target", "t", display_name="new")
    for each in ORIGINS[:-1]:
        world.book.replace(each, [other])
        assert not world.plan(TARGET.name).problems
    world.book.replace(ORIGINS[-1], [shared("target", "t", display_name="newer")])
    assert world.plan(TARGET.name).problems, "two values are in dispute"
    world.book.replace(ORIGINS[-1], [other])
    (operation,) = world.plan(TARGET.name).operations
    assert isinstance(operation, Update)
    assert operation.properties == {"display_name": "new"}
