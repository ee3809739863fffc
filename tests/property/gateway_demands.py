"""What every outcome of a gateway must fulfil: elements that mean what the oracle says and are those of a compile from
nothing, the same problems, and silence.

Why meaning, and not elements, is compared with the oracle: how the compiler divides the work among virtual hosts,
routes and clusters is its own business; where a request goes is not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from intentc.model import Problem
from intentc.offline.offline import Offline
from tests.oracle import ambassador_manifests as oracle
from tests.oracle.ambassador import Ambiguous, Answer, Request, answer
from tests.oracle.ambassador_manifests import Json
from tests.oracle.contrail import World, mark
from tests.oracle.envoy_elements import Elements, answered
from tests.property.demands import check_silence
from tests.property.gateway_steps import ELEMENTS, FOREIGN, LOADED, WRITTEN
from tests.property.gateways import ANNOTATION, BEYOND_THE_ORACLE, KINDS, REQUESTS
from tests.simulation.simulated_system import INSTALLATION, SimulatedSystem

ASKED = 120
"""Requests that are asked for in each example, of all that there are."""
_CLOSE = 0.001
"""Envoy's fractions of requests are in parts of 10,000."""


def check_meaning(stored: World, requests: Sequence[Request]) -> set[str]:
    """The elements answer each request as the oracle does; features of the answers."""
    elements = elements_in(stored)
    world, features = oracle.World(manifests(stored)), set()
    for request in requests:
        try:
            wanted = answer(world, request)
        except Ambiguous:
            features.add("ambiguous")
            continue
        found = answered(elements, request)
        assert _alike(found, wanted), f"{request}\nfound  {found}\nwanted {wanted}"
        features |= {str(outcome[0]) for outcome in wanted} | ({"divided"} if len(wanted) > 1 else set())
    return features | ({"forwarded"} if features & {"http", "tcp"} else set())


def _alike(found: Answer, wanted: Answer) -> bool:
    none = Fraction(0)
    return all(abs(found.get(one, none) - wanted.get(one, none)) <= _CLOSE for one in found.keys() | wanted.keys())


def manifests(stored: World) -> list[Json]:
    """What users said, as manifests again, those in annotations included: of one name that of the first carrier."""
    said = [
        {**data, "kind": name, "metadata": _metadata(data), "spec": data}
        for name, kind in KINDS.items()
        for data in stored.get(kind, {}).values()
        if mark(data) is None
    ]
    carried: dict[str, Json] = {}
    for data in sorted(stored.get("service", {}).values(), key=lambda data: str(data["fq_name"])):
        metadata = data.get("metadata") or {}
        for noted in (json.loads(text) for key, text in metadata.get("annotations", {}).items() if key == ANNOTATION):
            noted["metadata"].setdefault("labels", metadata.get("labels") or {})
            carried.setdefault(oracle.full(noted), noted)
    return [*said, *carried.values()]


def _metadata(data: Json) -> Json:
    *namespace, name = data["fq_name"]
    return {"namespace": ":".join(namespace), "name": name, "labels": (data.get("metadata") or {}).get("labels") or {}}


class Outcome(NamedTuple):
    """``elements``: (kind, *fq_name) → what the compiler wrote; ``problems`` without the revisions in their sources,
    which are not the same in two stores."""

    elements: dict[tuple[str, ...], Json]
    problems: set[tuple[str, ...]]


async def check_all(system: SimulatedSystem) -> set[str]:
    """The end of a history: faults end, and everything that is demanded must hold, over a restart, too. Features of
    the outcome."""
    await system.end_faults()
    await system.settle()
    stored = await system.world()
    fresh = await from_nothing(stored)
    check_same(await lived(system), fresh)
    unknown = stored.keys() & BEYOND_THE_ORACLE.values()
    features = {"beyond the oracle"} if unknown else check_meaning(stored, random.sample(REQUESTS, ASKED))
    await check_silence(system)
    check_same(await lived(system), fresh)
    await check_repair(system)
    return features | ({"problems"} if fresh.problems else set()) | ({"elements"} if fresh.elements else set())


async def check_scratch(system: SimulatedSystem) -> None:
    """A compile of the same inputs from nothing gives the same elements, and the same problems."""
    check_same(await lived(system), await from_nothing(await system.world()))


async def check_repair(system: SimulatedSystem) -> None:
    """The silence is not that of the dead: an element that is deleted is made again, and nothing else is asked for."""
    before = await lived(system)
    elements = [key for key, _ in await system.owned() if key.kind in ELEMENTS]
    if elements:
        asked = system.service.requests
        assert await system.delete_key(elements[0])
        await system.settle()
        assert system.service.requests == asked + 1
        check_same(await lived(system), before)


def check_same(found: Outcome, wanted: Outcome) -> None:
    names = found.elements.keys() | wanted.elements.keys()
    differing = {name for name in names if found.elements.get(name) != wanted.elements.get(name)}
    shown = {name: (found.elements.get(name), wanted.elements.get(name)) for name in sorted(differing)[:1]}
    assert not differing, f"differing: {sorted(differing)[:5]}; (after the history, from nothing): {shown}"
    lost, more = wanted.problems - found.problems, found.problems - wanted.problems
    assert not lost | more, f"problems only after the history: {more}; only from nothing: {lost}"


async def lived(system: SimulatedSystem) -> Outcome:
    """What a history has led to."""
    found, view = elements_in(await system.world()), system.engine
    elements = {(kind, *one["fq_name"]): written(one) for kind, ones in found.items() for one in ones}
    return Outcome(elements, comparable(view.states.problems(view.world.held.values())))


async def from_nothing(stored: World) -> Outcome:
    """What a compile of what users said, and of what Envoy rejects, leads to."""
    offline = Offline(LOADED, installation=INSTALLATION)
    await offline.seed()
    given = [
        {"kind": kind, "operation": "CREATE", "data": data}
        for kind in sorted([*KINDS.values(), "envoy_rejection"])
        for data in stored.get(kind, {}).values()
        if mark(data) is None
    ]
    await offline.apply(given)
    await offline.settle()
    outputs = (one for one in offline.outputs() if one["kind"] in ELEMENTS)
    elements = {(one["kind"], *one["fq_name"]): written(one) for one in outputs}
    return Outcome(elements, comparable(offline.problems()))


def elements_in(stored: World) -> Elements:
    """Without what is nobody's: others made it where nothing is wanted, or it was wanted once and has been emptied."""
    return {
        kind: [one for one in stored.get(kind, {}).values() if written(one) and one.get("config") != FOREIGN]
        for kind in ELEMENTS
    }


def comparable(problems: Iterable[Problem]) -> set[tuple[str, ...]]:
    """Without the revision in ``source``, which is not the same in two stores."""
    return {(problem.kind, problem.name, problem.reason, problem.message) for problem in problems}


def written(element: Json) -> Json:
    """Of an element what the compiler wrote, as far as it says anything."""
    return {field: value for field, value in element.items() if field in WRITTEN and value}
