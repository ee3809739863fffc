"""A recorded world of connected resources, put into etcd past the API server in any order.

The API server takes a reference only to what is there. So a tenant is built through one, in an order that it takes, and
recorded; afterwards its values (and the server's index over them, which the compiler never sees) go into other worlds
as etcd would deliver them to a compiler that sees them in that order. What was recorded keeps its uuids.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import msgspec

from intentc.watch.protocol import Delete, Put, prefix_end
from tests.faults.writing_load import many_groups
from tests.support.contrail_content import tenant
from tests.support.live_system import LiveSystem

_INDEX = "/intentc/apiserver/"


class Recorded(NamedTuple):
    """``values``: kind/uuid → value, of what the person made. ``seeds``: the same, of what every server has at first.
    ``index``: key below the server's index → value, of both."""

    values: dict[str, bytes]
    seeds: dict[str, bytes]
    index: dict[str, bytes]  # type: ignore[assignment]  # hides tuple.index, which nobody calls here

    @property
    def referring(self) -> int:
        """How many resources refer to another, or have a parent."""
        return sum(bool(_wanted(msgspec.json.decode(value))) for value in self.values.values())


class Step(NamedTuple):
    """``value`` None: a delete."""

    key: str
    value: bytes | None


async def record(world: LiveSystem, networks: int) -> Recorded:
    """Build a tenant of ``networks`` × 5 connected resources (groups in a ring, networks with their instances, feet, a
    router over all of them), with nobody compiling; what users wrote of it, as it is in etcd."""
    seeds = await _all(world, f"/{world.path}/")
    await tenant(world, networks)
    await many_groups(world, networks)
    values = await _all(world, f"/{world.path}/")
    made = {key: value for key, value in values.items() if key not in seeds}
    return Recorded(made, seeds, await _all(world, f"{_INDEX}{world.path}/"))


def in_any_order(recorded: Recorded, randomness: random.Random) -> list[Step]:
    """Every value is put; a third of them is put, deleted and put again, so that deletes come before what refers to
    the deleted ones. A routing instance comes after its network, since an instance without one is deleted
    (docs/contrail.md D.3)."""
    places: list[tuple[float, Step]] = []
    last: dict[str, float] = {}
    for key in sorted(recorded.values, key=lambda key: (key.startswith("routing_instance/"), key)):
        value = recorded.values[key]
        steps = [Step(key, value)]
        if randomness.random() < 1 / 3:
            steps = [Step(key, value), Step(key, None), Step(key, value)]
        after = last.get(str(msgspec.json.decode(value).get("parent_uuid")), 0.0) if "instance/" in key else 0.0
        moments = sorted(randomness.uniform(after, 1.0) for _ in steps)
        last[key.rpartition("/")[2]] = moments[-1]
        places += zip(moments, steps, strict=True)
    return [step for _, step in sorted(places, key=lambda place: place[0])]


async def lay_ground(world: LiveSystem, recorded: Recorded) -> None:
    """The seeds, and the server's index of everything that is going to be put; before a server makes its own."""
    for prefix, found in ((f"{_INDEX}{world.path}/", recorded.index), (f"/{world.path}/", recorded.seeds)):
        for key, value in found.items():
            await world.store.transaction((), [Put(prefix + key, value)])


async def carry_out(world: LiveSystem, steps: list[Step]) -> None:
    """One transaction a step."""
    for key, value in steps:
        path = f"/{world.path}/{key}"
        operation = Delete(path) if value is None else Put(path, value)
        world.revision = (await world.store.transaction((), [operation])).revision


async def dangling(world: LiveSystem) -> int:
    """How many references and parents are stored whose target is not."""
    stored = await world.stored()
    there = {uuid for kind in stored.values() for uuid in kind}
    resources = [resource for kind in stored.values() for resource in kind.values()]
    return sum(uuid not in there for resource in resources for uuid in _wanted(resource))


def _wanted(resource: dict[str, object]) -> list[str]:
    references = [
        str(entry["uuid"])
        for name, entries in resource.items()
        if name.endswith("_refs") and isinstance(entries, list)
        for entry in entries
    ]
    parent = resource.get("parent_uuid")
    return references + ([str(parent)] if parent else [])


async def _all(world: LiveSystem, prefix: str) -> dict[str, bytes]:
    found = (await world.store.range(prefix, prefix_end(prefix))).items
    return {item.key.removeprefix(prefix): item.value for item in found}
