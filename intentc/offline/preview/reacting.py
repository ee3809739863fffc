"""Compares a new reaction map with the one in force, on copies of the live world.

The result has the changed edges, the findings of the new map, its reach, the reactions that it lacks by the recorded
reads, and the writes that it would cause, which a second copy compiled with the new map shows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import msgspec

from intentc.inspection.traversal import reached
from intentc.loading.resources import ANSWER_VERSION
from intentc.logic import LiveWorld
from intentc.logic.coverage import Missing, coverage
from intentc.logic.dependencies import DependencyProcessor, Finding, ReactionMap, findings
from intentc.logic.dependencies.check import SEVERITIES
from intentc.logic.dependencies.reactions import SELF, Declared, Edge, edges
from intentc.model import Key
from intentc.offline.preview.planning import Progress, written_otherwise
from intentc.offline.preview.report import FORMAT, Change
from intentc.offline.preview.trial import Trial

LOOKED_AT = 2_000
"""Most resources of one kind whose changes are followed."""

ADDED, REMOVED = "added", "removed"


class EdgeChange(msgspec.Struct, frozen=True):
    """An edge that only one of the maps has: from ``kind``, reached through ``cause``, to ``to``, to all of that kind
    with ``everyone``. ``source``: file:line. ``pairs``: how many pairs of a changed resource and an intent depend on
    this edge alone, among the examined resources."""

    action: str
    kind: str
    cause: str
    to: str
    everyone: bool
    source: str
    pairs: int


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """The reach of changes of ``kind``: it has ``resources``, of which ``looked_at`` were examined. ``mean_*``,
    ``most_*``: intents that one change reaches, before and after. ``come``, ``go``: how many pairs of a resource and an
    intent are added and removed."""

    kind: str
    resources: int
    looked_at: int
    mean_before: float
    most_before: int
    mean_after: float
    most_after: int
    come: int
    go: int


class Changed(NamedTuple):
    edge: Edge
    declared: Declared
    action: str


class _Difference:
    """How two maps differ in ``world``: the edges, and the reach of each kind that these may affect."""

    def __init__(self, world: LiveWorld, before: ReactionMap, after: ReactionMap) -> None:
        self._world = world
        self._changed = _changed(before, after)
        self._before = DependencyProcessor(before, world.neighbours)
        self._after = DependencyProcessor(after, world.neighbours)
        self._without = [
            DependencyProcessor(_without(after if one.action == ADDED else before, one), world.neighbours)
            for one in self._changed
        ]
        self._pairs = [0] * len(self._changed)
        self._leading = _leading_to(self._changed, (before, after))

    def result(self) -> tuple[list[EdgeChange], list[Reach]]:
        by_kind: dict[str, list[Key]] = {}
        for key in self._world.cache:
            if key.kind in self._leading:
                by_kind.setdefault(key.kind, []).append(key)
        reaches = [self._reach(kind, sorted(keys)) for kind, keys in sorted(by_kind.items())]
        found = [
            EdgeChange(action, *edge, declared.everyone, declared.source, pairs)
            for (edge, declared, action), pairs in zip(self._changed, self._pairs, strict=True)
        ]
        return found, reaches

    def _reach(self, kind: str, keys: list[Key]) -> Reach:
        looked_at = keys if len(keys) <= LOOKED_AT else [keys[n * len(keys) // LOOKED_AT] for n in range(LOOKED_AT)]
        sizes_before, sizes_after, come, go = [], [], 0, 0
        for key in looked_at:
            before, after = self._intents(self._before, key), self._intents(self._after, key)
            sizes_before.append(len(before))
            sizes_after.append(len(after))
            come += len(after - before)
            go += len(before - after)
            for place in self._leading[kind]:
                full = after if self._changed[place].action == ADDED else before
                self._pairs[place] += len(full - self._intents(self._without[place], key))
        return Reach(
            kind=kind,
            resources=len(keys),
            looked_at=len(looked_at),
            mean_before=_mean(sizes_before),
            most_before=max(sizes_before),
            mean_after=_mean(sizes_after),
            most_after=max(sizes_after),
            come=come,
            go=go,
        )

    def _intents(self, processor: DependencyProcessor, origin: Key) -> frozenset[Key]:
        kinds = self._world.intent_kinds
        return frozenset(key for key in processor.walk([origin]) if key.kind in kinds and key != origin)


def _mean(sizes: Collection[int]) -> float:
    return round(sum(sizes) / len(sizes), 2)


def _changed(before: ReactionMap, after: ReactionMap) -> list[Changed]:
    """Return the edges that one map lacks; an edge to all of a kind differs from one to the related ones."""
    one, other = edges(before), edges(after)
    found = [Changed(edge, declared, REMOVED) for edge, declared in one.items() if not _has(other, edge, declared)]
    found += [Changed(edge, declared, ADDED) for edge, declared in other.items() if not _has(one, edge, declared)]
    return sorted(found, key=lambda changed: (changed.edge, changed.action))


def _has(edges: Mapping[Edge, Declared], edge: Edge, declared: Declared) -> bool:
    return edge in edges and edges[edge].everyone == declared.everyone


def _without(reactions: ReactionMap, changed: Changed) -> ReactionMap:
    """Return the map without one edge."""
    kind, cause, to = changed.edge
    return ReactionMap(
        reaction._replace(visits=tuple(visit for visit in reaction.visits if visit.kind != to))
        if (reaction.kind, reaction.cause) == (kind, cause)
        else reaction
        for reaction in reactions
    )


def _leading_to(changes: Collection[Changed], maps: Collection[ReactionMap]) -> dict[str, list[int]]:
    """Return kind of a changed resource → the positions in ``changes`` of the edges that its walk may reach."""
    states: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for edge in {edge for reactions in maps for edge in edges(reactions)}:
        states.setdefault((edge.kind, edge.cause), set()).add((edge.to, edge.kind))
    found: dict[str, list[int]] = {}
    for origin in sorted({kind for kind, cause in states if cause == SELF}):
        seen = set(reached([(origin, SELF)], lambda state: states.get(state, ())))
        places = [place for place, one in enumerate(changes) if (one.edge.kind, one.edge.cause) in seen]
        if places:
            found[origin] = places
    return found


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A new map of ``compiler``, compared at ``revision``. ``against``: the map it was compared with, for people.
    ``edges``: added and removed ones; ``findings``: of the new map, errors first; ``reach``: the intents that changes
    reach. Reactions that recorded reads need and a map lacks: ``missing`` in the new map alone, ``fixed`` by it,
    ``still_missing`` in both. ``writes``: what would be written."""

    api_version: str = msgspec.field(default=ANSWER_VERSION, name="apiVersion")
    format_version: str = msgspec.field(default=FORMAT, name="formatVersion")
    revision: int
    installation: str
    compiler: str
    against: str = ""
    edges: tuple[EdgeChange, ...] = ()
    findings: tuple[Finding, ...] = ()
    reach: tuple[Reach, ...] = ()
    missing: tuple[Missing, ...] = ()
    fixed: tuple[Missing, ...] = ()
    still_missing: tuple[Missing, ...] = ()
    writes: tuple[Change, ...] = ()

    @property
    def invalid(self) -> bool:
        """Whether the new map has an error."""
        return any(finding.severity == SEVERITIES[0] for finding in self.findings)


async def compare(compiler: str, before: Trial, after: Trial, *, progress: Progress = lambda text: None) -> Comparison:
    """Compare two maps. ``before``: a trial with the map in force; ``after``: one over the same world with the new
    map."""
    old, new = before.loaded.reactions, after.loaded.reactions
    proved = tuple(findings(new, after.loaded.schema))
    comparison = Comparison(
        revision=before.start, installation=before.engine.world.installation, compiler=compiler, findings=proved
    )
    if comparison.invalid:
        return comparison
    progress("compiling a copy of the world with the map in force")
    resting = await before.rest()
    progress("following changes by both maps")
    world = before.engine.world
    changed, reach = _Difference(world, old, new).result()
    progress("comparing the maps with the recorded reads")
    missing, former = _missing(world, new), _missing(world, old)
    progress("compiling a second copy with the new map")
    writes = await written_otherwise(before, resting, after, await after.rest())
    return msgspec.structs.replace(
        comparison,
        edges=tuple(changed),
        reach=tuple(reach),
        missing=tuple(found for pair, found in missing.items() if pair not in former),
        fixed=tuple(found for pair, found in former.items() if pair not in missing),
        still_missing=tuple(found for pair, found in missing.items() if pair in former),
        writes=writes,
    )


def _missing(world: LiveWorld, reactions: ReactionMap) -> dict[tuple[str, str], Missing]:
    return {(one.reader, one.read): one for one in coverage(world, reactions).missing}
