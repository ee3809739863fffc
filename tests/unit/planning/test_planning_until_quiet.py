"""From any actual state, planning until quiet reaches what is desired, and then plans nothing."""

from __future__ import annotations

from collections import deque
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from intentc.model import Claim, Key, Name, Operation, ReferenceClaim, Resource, ResourceClaim
from tests.property.profiles import share
from tests.unit.planning.planning_world import PlanningWorld, child, origin, owned, parent, refer, rules, shared, struct

GROUPS = ("a", "b", "c")
TARGETS = ("t1", "t2", "t3")
INSTANCES = tuple(Name("instance", (group, "primary")) for group in GROUPS)
OWN_INSTANCES = tuple(Name("instance", (group, "own")) for group in GROUPS)

target = st.sampled_from(TARGETS)
direction = st.sampled_from([None, *(struct("Direction", import_export=text) for text in ("", "import", "export"))])


@st.composite
def claims(draw: st.DrawFn, group: str) -> list[Claim]:
    """What one group may want; claims of different groups meet on targets and instances."""
    wanted: list[Claim] = []
    if draw(st.booleans()):
        wanted.append(child(group, rules=rules(*draw(st.lists(st.integers(1, 3), max_size=2)))))
    for name in draw(st.lists(target, max_size=3, unique=True)):
        wanted.append(shared("target", name))
    if draw(st.booleans()):
        wanted.append(owned("target", f"own-{group}", group))
        wanted.append(refer(Name("router", ("r",)), Name("target", (f"own-{group}",))))
    if draw(st.booleans()):
        wanted.append(ResourceClaim(Name("instance", (group, "own")), parent(group), f"uuid-{group}"))
    holders = st.sampled_from((*INSTANCES, Name("instance", (group, "own"))))
    for holder in draw(st.lists(holders, max_size=3)):
        wanted.append(refer(holder, Name("target", (draw(target),)), draw(direction)))
    for other in draw(st.lists(st.sampled_from(OWN_INSTANCES), max_size=2, unique=True)):
        wanted.append(refer(Name("instance", (group, "own")), other, struct("Weight", weight=1)))
    return wanted


state = st.fixed_dictionaries({group: claims(group) for group in GROUPS})


W = TypeVar("W", bound=PlanningWorld)


def users_world(world: W) -> W:
    """Groups, instances that the server made, and a router with a user's own target."""
    for group in GROUPS:
        world.put("group", group)
        world.put("instance", group, "primary", parent=parent(group), color="red")
    users = world.put("target", "users")
    world.put("router", "r", uuid="uuid-a", references={"target": [(users, None)]})
    return world


def converge(world: PlanningWorld, order: st.DataObject) -> int:
    """Plan everything there is or that is claimed, in random order, until a whole round writes nothing. Returns the
    number of writes."""
    writes = 0
    for _ in range(20):
        names = {resource.name for resource in world.stored.values()} | set(world.book.names())
        before = writes
        for name in order.draw(st.permutations(sorted(names))):
            plan = world.plan(name)
            writes += len(plan.operations)
            world.carry_out(plan)
        if writes == before:
            return writes
    raise AssertionError("it does not get quiet")


def drift(world: PlanningWorld, order: st.DataObject) -> None:
    """Somebody else changes what compilers write."""
    users = Key("target", "uuid-users")
    for key, resource in list(world.stored.items()):
        if key.kind == "instance" and order.draw(st.booleans()):
            references = {"target": [(users, None)], "instance": [(key, None)]}
            more: dict[str, Any] = {"references": references, "note": "drift", "color": resource.values().color}
        elif key.kind == "ruleset" and order.draw(st.booleans()):
            more = {"digest": 7}
        else:
            continue
        above = parent(resource.fq_name[0])
        world.put(key.kind, *resource.fq_name, uuid=key.uuid, mark=resource.mark, parent=above, **more)


def apply(world: PlanningWorld, wanted: dict[str, list[Claim]]) -> None:
    for group, own in wanted.items():
        world.book.replace(origin(group), own)


def image(world: PlanningWorld) -> dict[Name, Any]:
    """What is there, uuids and revisions left out."""
    names = {key: resource.name for key, resource in world.stored.items()}
    return {
        resource.name: {
            "parent": resource.parent,
            "properties": [getattr(resource.values(), field) for field in resource.kind.properties],
            "references": {
                relation: sorted(
                    (names[Key(relation, r.uuid)], repr(r.attribute)) for r in resource.references(relation)
                )
                for relation in resource.kind.relations
            },
        }
        for resource in world.stored.values()
    }


@share(0.5)
@given(first=state, second=state, order=st.data())
def test_any_former_state_and_a_fresh_one_end_alike(
    first: dict[str, list[Claim]], second: dict[str, list[Claim]], order: st.DataObject
) -> None:
    world, fresh = users_world(PlanningWorld()), users_world(PlanningWorld())
    apply(world, first)
    converge(world, order)
    drift(world, order)
    apply(world, second)
    converge(world, order)
    apply(fresh, second)
    converge(fresh, order)
    assert image(world) == image(fresh)
    assert converge(world, order) == 0


class LaggingWorld(PlanningWorld):
    """The cache shows what was delivered; every write is assumed until its event comes."""

    def __init__(self) -> None:
        self._seen: dict[Key, Resource] = {}
        self._events: deque[tuple[Key, Resource | None, int]] = deque()
        self._applied = 0
        super().__init__()

    @property
    def revision(self) -> int:
        return self._applied

    @property
    def seen(self) -> dict[Key, Resource]:
        return self._seen

    def remove(self, key: Key) -> None:
        super().remove(key)
        self._events.append((key, None, self.written))

    def _store(self, key: Key, value: dict[str, Any]) -> Key:
        super()._store(key, value)
        self._events.append((key, self.stored[key], self.written))
        return key

    def _carry_out(self, operation: Operation) -> None:
        super()._carry_out(operation)
        self.assumed.wrote(operation, self.written)

    def deliver(self, count: int | None = None) -> None:
        """The cache applies the next events."""
        for _ in range(len(self._events) if count is None else min(count, len(self._events))):
            key, resource, revision = self._events.popleft()
            self.assumed.applied(key, revision)
            self._applied = revision
            if resource is None:
                self._seen.pop(key)
            else:
                self._seen[key] = resource


@share(0.25)
@given(first=state, second=state, order=st.data())
def test_late_events_cause_no_write_that_would_fail_and_none_too_many(
    first: dict[str, list[Claim]], second: dict[str, list[Claim]], order: st.DataObject
) -> None:
    world, fresh = users_world(LaggingWorld()), users_world(PlanningWorld())
    world.deliver()
    for wanted in (first, second):
        apply(world, wanted)
        for _ in range(12):
            for name in order.draw(
                st.permutations(sorted({*(r.name for r in world.stored.values()), *world.book.names()}))
            ):
                world.carry_out(world.plan(name))
                world.deliver(order.draw(st.integers(0, 2)))
    converge(world, order)
    world.deliver()
    assert len(world.assumed) == 0
    assert converge(world, order) == 0
    apply(fresh, second)
    converge(fresh, order)
    assert image(world) == image(fresh)


@share(0.25)
@given(wanted=state, order=st.data())
def test_nothing_of_ours_is_left_when_everybody_is_gone(wanted: dict[str, list[Claim]], order: st.DataObject) -> None:
    world = users_world(PlanningWorld())
    apply(world, wanted)
    converge(world, order)
    for group in GROUPS:
        world.book.drop(origin(group))
    converge(world, order)
    assert image(world) == image(users_world(PlanningWorld()))


@share(0.25)
@given(wanted=state, order=st.data())
def test_what_is_claimed_of_our_own_objects_is_there(wanted: dict[str, list[Claim]], order: st.DataObject) -> None:
    world = users_world(PlanningWorld())
    apply(world, wanted)
    converge(world, order)
    there = image(world)
    for own in wanted.values():
        for claim in own:
            if isinstance(claim, ResourceClaim):
                assert claim.name in there
            elif isinstance(claim, ReferenceClaim) and claim.holder in there and claim.target in there:
                targets = [name for name, _ in there[claim.holder]["references"][claim.relation]]
                assert (claim.target in targets) == (
                    claim.holder.kind != "router" or claim.target.fq_name == ("own-a",)
                )
