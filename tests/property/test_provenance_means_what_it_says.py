"""What is named as the source of a part of an object is what it stands on: without a source of each reason it is gone;
and whatever is neither a source nor was read may change without anything happening to it.

Random objects of random worlds; each is asked why it is there, then the world is compiled again without what was named.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from intentc.apiserver.errors import ApiError
from intentc.inspection.part_sources import Because, parts_of, reads_of
from intentc.inspection.shown_resources import lower_level
from intentc.model import Key, Name, RelationClaim, Source
from intentc.model.claims import claimed_parts
from intentc.offline.offline import Offline
from intentc.plugins import Loaded
from tests.oracle.contrail import Json, World, mark
from tests.property import gateway_steps
from tests.property.counterfactual import count, object_of, parsed, value_at, without
from tests.property.examples import REPORTS
from tests.property.gateway_steps import ELEMENTS
from tests.property.gateway_world import world
from tests.property.gateways import KINDS, gateways
from tests.property.profiles import thorough, unshrunk
from tests.property.resources import Put, large_tenants
from tests.property.steps import holders
from tests.simulation import simulated_system
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import stored_world

_OBJECTS = 5
"""Objects that are asked about in each world."""
_PARTS = 3
"""Parts that are tried of each, the object itself among them."""
_ANY = 0.3
"""How often the sources that are taken away have nothing in common."""
_LEAST_OBJECTS = 200
"""Objects that a run must have asked about, of each compiler."""
_LEAST_PARTS = 20
"""Of each sort that is demanded."""


class Tried(NamedTuple):
    """What a run has to show: by word how often."""

    title: str
    counts: Counter[str]

    def check(self, *demanded: str) -> None:
        """Report, and fail if too little was tried; of which parts, says a thorough run only."""
        REPORTS.append(f"{self.title}: " + ", ".join(f"{n} {word}" for word, n in self.counts.most_common()))
        least, parts = (_LEAST_OBJECTS, demanded) if thorough() else (_LEAST_PARTS, ("parts gone", "unchanged"))
        poor = {word: self.counts[word] for word in parts if self.counts[word] < _LEAST_PARTS}
        assert self.counts["objects"] >= least and not poor, f"too little was tried: {self.counts}"


def test_contrail_parts_depend_on_one_source_of_each_reason_and_nothing_else() -> None:
    tried = Tried("provenance of contrail", Counter())

    @unshrunk(0.08)
    @given(large_tenants(), st.integers(0, 10**6))
    def ask(begin: list[Put], seed: int) -> None:
        simulate(_ask_tenants, begin, random.Random(seed), tried.counts)

    ask()
    tried.check("parts gone", "acl_rule gone", "route_target_refs gone", "unchanged")


async def _ask_tenants(begin: Sequence[Put], chance: random.Random, counts: Counter[str]) -> None:
    offline = Offline(simulated_system.LOADED)
    await offline.seed()
    waiting = list(begin)
    for _ in begin:
        waiting = [put for put in waiting if not await _put(offline, put)]
    await offline.settle()
    await _ask(simulated_system.LOADED, offline, chance, counts)


def test_ambassador_elements_depend_on_one_source_of_each_reason_and_nothing_else() -> None:
    tried = Tried("provenance of ambassador", Counter())

    @unshrunk(0.08)
    @given(gateways, st.integers(0, 10**6))
    def ask(begin: list[Json], seed: int) -> None:
        simulate(_ask_gateway, [*world(), *begin], random.Random(seed), tried.counts)

    ask()
    tried.check("parts gone", *(f"{kind} gone" for kind in ELEMENTS), "unchanged")


async def _ask_gateway(begin: Sequence[Json], chance: random.Random, counts: Counter[str]) -> None:
    offline = Offline(gateway_steps.LOADED)
    await offline.seed()
    for manifest in begin:
        with suppress(ApiError):  # as a user's mistake
            await offline.server.create(KINDS[manifest["kind"]], manifest)
    await offline.settle()
    await _ask(gateway_steps.LOADED, offline, chance, counts)


async def _put(offline: Offline, put: Put) -> bool:
    server = offline.server
    try:
        if put.kind == "global_system_config" or put.kind == "project":
            await server.update(Key(put.kind, await server.identify(put.kind, put.fq_name)), put.fields)
        else:
            await server.create(put.kind, {"fq_name": list(put.fq_name), **put.fields})
    except ApiError as error:
        if error.status == 404 and put.kind == "project":
            await server.create(put.kind, {"fq_name": list(put.fq_name), **put.fields})
            return True
        return False
    return True


async def _ask(loaded: Loaded, offline: Offline, chance: random.Random, counts: Counter[str]) -> None:
    """Ask about some objects of one world."""
    view = offline.engine
    names = sorted({Name(resource.key.kind, resource.fq_name) for resource in lower_level(view.world, view.planner)})
    for name in _of_all_kinds(names, chance)[:_OBJECTS]:
        why, before = parts_of(view, name), object_of(offline, name)
        if not why or before is None:
            continue
        if mark(before) is None:
            why.pop("", None)  # a user made it; that it is there follows from nothing
        claims = [claim for own in view.planner.book.on(name).values() for claim in own]
        ruled = {p for claim in claims if isinstance(claim, RelationClaim) for p in claimed_parts(claim)}
        for part in [part for part in why if part in ruled or _stays(loaded, name.kind, part)]:
            del why[part]  # what stays as it is, and what must not be there
        counts["objects"] += 1
        asked = ["", *chance.sample(list(why), min(_PARTS - 1, len(why)))]
        for part in dict.fromkeys(one for one in asked if one in why):
            await _take_away(loaded, offline, name, part, why[part], before, chance, counts)
        named = {source for reasons in why.values() for reason in reasons for source in reason.sources}
        await _change_another(loaded, offline, name, named, before, chance, counts)


def _stays(loaded: Loaded, kind: str, part: str) -> bool:
    """Whether it is a part of a user's property, which stays as it is once nobody claims it."""
    field, _, inner = part.partition(".")
    declared = loaded.schema.kinds[kind].properties.get(field)
    return declared is not None and inner in declared.compiler_parts


def _of_all_kinds(names: list[Name], chance: random.Random) -> list[Name]:
    """``names`` in any order in which those of rare kinds are as far in front as those of others."""
    seen: Counter[str] = Counter()
    places: list[tuple[int, float, Name]] = []
    for name in chance.sample(names, len(names)):
        seen[name.kind] += 1
        places.append((seen[name.kind], chance.random(), name))
    return [name for _, _, name in sorted(places)]


def _chosen(reasons: Sequence[Because], chance: random.Random) -> set[Source]:
    """A source of each reason: any, or those of the same kinds from all, so that a whole sort of source goes."""
    if chance.random() < _ANY:
        return {chance.choice(reason.sources) for reason in reasons}
    kinds = sorted({source.kind for reason in reasons for source in reason.sources})
    rank = {kind: place for place, kind in enumerate(chance.sample(kinds, len(kinds)))}
    return {min(reason.sources, key=lambda source: (rank[source.kind], source)) for reason in reasons}


async def _take_away(
    loaded: Loaded,
    offline: Offline,
    name: Name,
    part: str,
    reasons: Sequence[Because],
    before: Json,
    chance: random.Random,
    counts: Counter[str],
) -> None:
    chosen = _chosen(reasons, chance)
    after = object_of(await without(loaded, offline, chosen), name)
    failure = f"{name} {part!r} is there without {sorted(chosen)}; reasons: {reasons}"
    if not part:
        assert after is None, failure
    elif after is not None:
        path = parsed(part)
        value = value_at(before, path)
        assert count(after, path, value) < count(before, path, value), failure
    counts["parts gone"] += 1
    counts[f"{part.partition('[')[0].rpartition('.')[2] or name.kind} gone"] += 1


async def _change_another(
    loaded: Loaded,
    offline: Offline,
    name: Name,
    named: set[Source],
    before: Json,
    chance: random.Random,
    counts: Counter[str],
) -> None:
    """Take away something that the object has nothing to do with."""
    view = offline.engine
    concerned = reads_of(view, name) | {
        Key(source.kind, uuid)
        for source in named
        if (uuid := view.world.cache.names.in_force(source.kind, source.name)) is not None
    }
    world = await stored_world(offline.store)
    others = [
        Source(kind, ":".join(data["fq_name"]))
        for kind in sorted(world)
        for uuid, data in sorted(world[kind].items())
        if kind in loaded.intents and kind not in _SERVERS_OWN and "_internal_vn_" not in data["fq_name"][-1]
        if not _taken_along(world, Key(kind, uuid)) & concerned
    ]
    if not others:
        return
    other = chance.choice(others)
    changed = await without(loaded, offline, [other])
    if not reads_of(changed.engine, name) <= concerned:
        # Somebody else takes part now, as if he had just been applied: one who was overruled by what is gone.
        counts["others come"] += 1
        return
    after = object_of(changed, name)
    assert after is not None and _said(after) == _said(before), f"{name} neither names nor reads {other}, and changed"
    counts["unchanged"] += 1


def _said(resource: Json) -> Json:
    """What compilers say of an object: not the server's count of writes, nor the uuids of what it refers to. A target
    may be made anew, under its name, when another than before owns it."""
    found = {field: value for field, value in resource.items() if field not in ("configuration_version", "id_perms")}
    for field in found:
        if field.endswith("_refs"):
            found[field] = [{key: value for key, value in entry.items() if key != "uuid"} for entry in found[field]]
    return found


_SERVERS_OWN = frozenset({"routing_instance", "project", "global_system_config"})
"""What comes and goes with others, or never."""


def _taken_along(world: World, key: Key) -> set[Key]:
    """What may change if this is deleted: itself, who refers to it, what hangs on it, and so on."""
    found: set[Key] = set()
    waiting = {key}
    while waiting:
        key = waiting.pop()
        found.add(key)
        waiting |= {holder for holder, _, _ in holders(world, key.uuid)} - found
        waiting |= {
            Key(kind, uuid)
            for kind, resources in world.items()
            for uuid, data in resources.items()
            if data.get("parent_uuid") == key.uuid
        } - found
    return found
