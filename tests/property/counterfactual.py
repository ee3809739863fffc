"""What would be there if something had not been said: a copy of a compiled world, without some sources, compiled again.

The copy is the store as it stands, numbers and uuids included, so that nothing is different but what was taken away
and what follows from that. A whole resource goes as a user would take it away: what refers to it lets go of it first.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from intentc.apiserver.errors import ApiError
from intentc.model import Key, Name, Source
from intentc.offline.offline import Offline
from intentc.plugins import Loaded
from intentc.watch.memory import MemoryStore
from tests.oracle.contrail import Json, World
from tests.property.steps import holders
from tests.simulation.simulated_system import stored_world

_EVERYTHING = ("\0", "\0")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_REFERENCE = re.compile(r"(\w+_refs)\[(.*)\]")
_INTERNAL = re.compile(r":__contrail_lr_internal_vn_(.*)__$")
"""In the name of a router's internal network: the router's uuid."""
_MOST = 100_000
_WITH_CHILDREN = ("global_system_config", "fabric", "physical_router", "node")
"""Kinds whose children are users', and are deleted along with them."""

Path = tuple[str | int, ...]


async def copied(offline: Offline) -> MemoryStore:
    """The store of ``offline`` as it stands, to be changed apart."""
    found = await offline.store.range(*_EVERYTHING)
    return MemoryStore.holding(found.items, found.revision, max_txn_ops=_MOST)


async def without(loaded: Loaded, offline: Offline, sources: Collection[Source]) -> Offline:
    """The same world, compiled without these."""
    return await removed(Offline(loaded, store=await copied(offline)), sources)


async def removed(offline: Offline, sources: Collection[Source]) -> Offline:
    """``offline``, from whose store these sources are taken. All of them must be there at first; one may go along with
    another, as what the server copies from a router does."""
    world = await stored_world(offline.store)
    for source in sources:
        _, data = _find(world, source)
        if source.field:
            _take(copy.deepcopy(data), parsed(source.field))
    fields: dict[tuple[str, str], list[str]] = {}
    wholes: list[Source] = []
    for source in dict.fromkeys(sources):
        if source.field:
            fields.setdefault((source.kind, source.name), []).append(source.field)
        else:
            wholes.append(source)
    for (kind, name), paths in fields.items():
        if not any((whole.kind, whole.name) == (kind, name) for whole in wholes):
            await _take_fields(offline, Source(kind, name), paths)
    for whole in wholes:
        await _take_whole(offline, whole)
    await offline.settle()
    return offline


async def _take_fields(offline: Offline, source: Source, paths: list[str]) -> None:
    key, data = _find(await stored_world(offline.store), source)
    changes: Json = {}
    for path in sorted({parsed(path) for path in paths}, key=_depth_first, reverse=True):
        with suppress(LookupError):  # it went with another
            _take(data, path)
            changes[str(path[0])] = data.get(str(path[0]))
    try:
        await offline.server.update(key, changes)
    except ApiError as error:
        assert error.status < 500, f"{source}: {error.message}"
        # What the server does not let be without this goes whole.
        await _take_whole(offline, source)


async def _take_whole(offline: Offline, source: Source) -> None:
    world = await stored_world(offline.store)
    found = [uuid for uuid, data in world.get(source.kind, {}).items() if _name(data) == source.name]
    if not found:
        return  # it went with another
    if source.kind == "routing_instance":
        # The server's own, which comes and goes with its network.
        await _take_whole(offline, Source("virtual_network", source.name.rpartition(":")[0]))
        return
    router = _INTERNAL.search(source.name)
    if source.kind == "virtual_network" and router is not None:
        # Its router has it as long as it is there.
        await _take_whole(offline, Source("logical_router", _name(world["logical_router"][router[1]])))
        return
    for key, field, left in holders(world, found[0]):
        try:
            await offline.server.update(key, {field: left})
        except ApiError as error:
            assert error.status < 500, f"{source}: {error.message}"
            # What can't be without this goes, too.
            await _take_whole(offline, Source(key.kind, _name(world[key.kind][key.uuid])))
    for kind, resources in world.items():
        for child in resources.values():
            if source.kind in _WITH_CHILDREN and child.get("parent_uuid") == found[0]:
                await _take_whole(offline, Source(kind, _name(child)))
    await offline.server.delete(Key(source.kind, found[0]))


def _find(world: World, source: Source) -> tuple[Key, Json]:
    for uuid, data in world.get(source.kind, {}).items():
        if _name(data) == source.name:
            return Key(source.kind, uuid), data
    raise AssertionError(f"{source} is named, and not there")


def _name(data: Mapping[str, Any]) -> str:
    return ":".join(data["fq_name"])


# Parts and fields by their paths


def parsed(path: str) -> Path:
    """``a.b[3]`` as ``("a", "b", 3)``, ``x_refs[name]`` as ``("x_refs", name)``."""
    reference = _REFERENCE.fullmatch(path)
    if reference is not None:
        return reference.groups()
    return tuple(int(match[1]) if match[1] else match[2] for match in _STEP.finditer(path))


def _depth_first(path: Path) -> tuple[tuple[str, int], ...]:
    return tuple(("", step) if isinstance(step, int) else (step, 0) for step in path)


def _take(data: Json, path: Path) -> None:
    *way, last = path
    place: Any = data
    for step in way:
        place = place[step]
    if isinstance(place, list) and isinstance(last, str):
        place[:] = [entry for entry in place if ":".join(entry["to"]) != last]
    elif isinstance(place, dict):
        # The server forgets a field that is written as nothing.
        place[last] = None
        if way:
            del place[last]
    else:
        del place[last]


_ABSENT = object()


def count(resource: Json | None, path: Path, value: Any) -> int:
    """How often ``value`` stands where ``path`` leads in an object: in a list at any place of it."""
    *way, last = path
    found: Any = resource
    for step in way:
        if isinstance(found, list):
            found = found[step] if isinstance(step, int) and step < len(found) else _ABSENT
        else:
            found = found.get(step, _ABSENT) if isinstance(found, dict) else _ABSENT
    if isinstance(found, list):
        return sum(_same(entry, value) for entry in found)
    return int(isinstance(found, dict) and last in found and _same(found[last], value))


def value_at(resource: Json, path: Path) -> Any:
    """What stands there; references are the lists that they stand in. Raises ``LookupError``."""
    found: Any = resource
    for step in path:
        if isinstance(found, list) and isinstance(step, str):
            found = next(entry for entry in found if ":".join(entry["to"]) == step)
        else:
            found = found[step]
    return found


def _same(entry: Any, value: Any) -> bool:
    """References are the same if they lead to the same; what follows from it is another part."""
    if isinstance(entry, dict) and isinstance(value, dict) and "to" in entry and "to" in value:
        return bool(entry["to"] == value["to"])
    return bool(entry == value)


def object_of(offline: Offline, name: Name) -> Json | None:
    """What lies in the store under a name; None if nothing does."""
    import json

    known = offline.engine.world
    uuid = known.cache.names.in_force(name.kind, ":".join(name.fq_name))
    resource = known.cache.shown(Key(name.kind, uuid)) if uuid else None
    return json.loads(resource.raw) if resource is not None else None
