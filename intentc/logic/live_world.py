"""The world that evaluations see, answered from cache, facts, allocations and settings (``model.World``).

What evaluations read is frozen, and sorted where it is a set. ``LastGoodWorld`` answers from last good values, for the
facts of held intents. ``facts`` and ``facts_of`` serve inspection: ``facts`` in the order in which facts were first
yielded, ``facts_of`` in the order of the last yield. ``answering`` follows a read back to stored resources, for code
that explains; facts have none. ``evaluation`` records reads and hides what compilers wrote; ``service.py`` finds what a
change means for readers.

State: the cache, facts, allocations, settings and last good values; ``logic.Service`` alone changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intentc.logic.cache import Cache, Held
from intentc.logic.cache.states import known_name
from intentc.logic.dependencies import DependencyProcessor, Neighbours, Path, ReactionMap, ReadIndex
from intentc.logic.facts import FactTable
from intentc.model import HeldInput, Key, Name, Problem, Read, Resource, Schema, Target
from intentc.model.names import FQ_NAME, UUID
from intentc.model.reads import (
    PARENT,
    index_read,
    metadata_read,
    name_read,
    object_read,
    sources_read,
    targets_read,
    usable_read,
)
from intentc.model.values import freeze


class CachedWorld:
    """Implements ``model.World``."""

    def __init__(self, schema: Schema, settings: Mapping[str, Any]) -> None:
        self.schema = schema
        self.cache = Cache(schema)
        self._facts = FactTable()
        self._allocations: dict[tuple[str, str], int] = {}
        self._settings = {name: freeze(value) for name, value in settings.items()}
        self.superseded: dict[Key, Resource] = {}
        """Intents that were not evaluated completely since their resource changed → the resource before that."""

    def resource(self, key: Key) -> Resource | None:
        state = self.cache.state(key)
        if isinstance(state, Held):
            raise HeldInput(key, Name(key.kind, state.fq_name) if state.fq_name else None)
        return state

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
        return self.cache.named(kind, fq_name)

    def targets(self, key: Key, relation: str) -> tuple[Target, ...]:
        found = self._sorted(self.cache.graph.targets(key, relation))
        resource = self.cache.shown(key)
        declared = resource.kind.relations.get(relation) if resource is not None else None
        if resource is None or declared is None or not declared.attribute:
            return tuple(Target(target, None) for target in found)
        attributes: dict[Key, list[Any]] = {}
        for reference in resource.references(relation):
            target = Key(relation, reference.uuid) if reference.uuid else self.cache.named(relation, reference.to)
            if target is not None:
                attributes.setdefault(target, []).append(reference.attribute)
        return tuple(Target(target, attribute) for target in found for attribute in attributes.get(target, (None,)))

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        return self._sorted(self.cache.graph.sources(key, kind, relation))

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]:
        return self._sorted(self.cache.find(kind, index, value))

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        return self._facts.contributions((kind, name))

    def contributed(self, kind: str, name: str) -> bool:
        return (kind, name) in self._facts

    def facts(self, kind: str) -> Iterator[str]:
        """The names of the facts of one kind that have contributions."""
        return (name for of, name in self._facts if of == kind)

    def facts_of(self, contributor: Key) -> tuple[Key, ...]:
        """The facts to which an intent contributes."""
        return tuple(Key(*name) for name in self._facts.contributed_by(contributor))

    def allocation(self, pool: str, owner: str) -> int | None:
        return self._allocations.get((pool, owner))

    def setting(self, name: str) -> Any:
        return self._settings[name]

    def last_good(self, key: Key) -> LastGoodWorld:
        """The same world for the facts of a held intent: with the last readable value of each unreadable resource, and
        with the intent's own resource as of its last complete run."""
        return LastGoodWorld(self, key)

    def _sorted(self, keys: Iterable[Key]) -> tuple[Key, ...]:
        def order(key: Key) -> tuple[tuple[str, ...], str]:
            state = self.cache.state(key)
            return (state.fq_name if state is not None else (), key.uuid)

        found = tuple(keys)
        return tuple(sorted(found, key=order)) if len(found) > 1 else found


class LastGoodWorld(CachedWorld):
    """A world over the tables of another one; see ``CachedWorld.last_good``."""

    def __init__(self, world: CachedWorld, intent: Key) -> None:
        self.schema = world.schema
        self.cache = world.cache
        self.superseded = world.superseded
        self._facts = world._facts
        self._allocations = world._allocations
        self._settings = world._settings
        self._intent = intent

    def resource(self, key: Key) -> Resource | None:
        if key == self._intent and key in self.superseded:
            return self.superseded[key]
        shown = self.cache.shown(key)
        return shown if shown is not None else super().resource(key)


class _Neighbours:
    """The cache as the walk sees it."""

    def __init__(self, cache: Cache) -> None:
        self.related = cache.graph.related
        self.all = cache.all


class LiveWorld(CachedWorld):
    """The world as readers of a running engine see it: with recorded reads and the reaction map.

    It changes between two awaits, and offers no method that changes it; ``Service`` does that."""

    def __init__(
        self,
        schema: Schema,
        reactions: ReactionMap,
        *,
        intent_kinds: Mapping[str, bool],
        settings: Mapping[str, Any],
        installation: str,
    ) -> None:
        super().__init__(schema, settings)
        self.reactions = reactions
        """The map in force."""
        self.intent_kinds = intent_kinds
        """Kinds that have an intent → whether it trusts the reaction map."""
        self.installation = installation
        """The name in the marks of the objects that we create."""
        self.reads = ReadIndex()
        self.revision = 0
        """The last applied revision."""
        self.listed = False
        """Whether the world was listed once."""
        self.first_listed = 0
        """The revision of the first listing. A resource that was not written since triggered nothing by a change."""
        self.neighbours: Neighbours = _Neighbours(self.cache)
        """The graph as walks see it."""
        self._processor = DependencyProcessor(reactions, self.neighbours)

    @property
    def held(self) -> Mapping[Key, Problem]:
        """The present keys whose values can't be used now, with the reasons."""
        return self.cache.held

    def exists(self, key: Key) -> bool:
        """Whether such an object is in the store, or such a fact has contributions."""
        if self.cache.state(key) is not None:
            return True
        return (key.kind, key.uuid) in self._facts

    def has_intent(self, uuid: str) -> bool:
        """Whether there is an intent with this uuid."""
        return any(True for _ in self.intents_of(uuid))

    def intents_of(self, uuid: str) -> Iterator[Key]:
        """The intents with this uuid: of a resource, and of facts that are named after it."""
        return (key for kind in self.intent_kinds if self.exists(key := Key(kind, uuid)))

    def mod_revision(self, key: Key) -> int:
        """The revision at which this object was last written; 0 if no such object is in the store."""
        state = self.cache.state(key)
        return state.mod_revision if state is not None else 0

    def at_start(self, revision: int) -> bool:
        """Whether a resource of this revision was not written since the first listing, so that only the start of this
        process triggered its evaluation."""
        return 0 < revision <= self.first_listed

    def name_of(self, key: Key) -> str:
        """The name of a resource for people, its uuid if no name is known."""
        return known_name(self.cache.state(key)) or key.uuid

    def walk(self, origins: Iterable[Key]) -> dict[Key, Path]:
        """The intents that a change of ``origins`` affects by the reaction map, with the present relations."""
        return self._processor.walk(origins)

    def referring_to_name(self, name: Name) -> set[tuple[Key, str]]:
        """The resources that refer to ``name``, by its fq_name or by a uuid given as its name; with the relations."""
        graph, joined = self.cache.graph, ":".join(name.fq_name)
        return {
            (key, way.relation)
            for way in graph.incoming.get(name.kind, ())
            if way.by in (UUID, FQ_NAME)
            for key in graph.sources_by(way, Key(name.kind, ""), joined)
        }


_NOWHERE = Key("", "")
_OF_OBJECTS = frozenset({object_read(_NOWHERE)[0], usable_read(_NOWHERE)[0], metadata_read(_NOWHERE)[0]})
_NAME = name_read("", ())[0]
_TARGETS = targets_read(_NOWHERE, "")[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


def answering(world: CachedWorld, read: Read) -> Iterator[Key]:
    """The stored resources behind a read. Both ends of a relation answer it; an absent object has none."""
    match read:
        case (sort, kind, uuid, *_) if sort in _OF_OBJECTS:
            yield from _there(world, Key(kind, uuid))
        case (sort, kind, name) if sort == _NAME:
            in_force = world.cache.names.in_force(kind, name)
            if in_force is not None:
                yield Key(kind, in_force)
        case (sort, kind, uuid, relation) if sort == _TARGETS:
            yield from _there(world, Key(kind, uuid))
            yield from (target.key for target in world.targets(Key(kind, uuid), relation))
        case (sort, kind, uuid, source, relation) if sort == _SOURCES:
            yield from _there(world, Key(kind, uuid))
            yield from world.sources(Key(kind, uuid), source, relation)
        case (sort, kind, index, value) if sort == _INDEX:
            yield from world.select(kind, index, value)


def _there(world: CachedWorld, key: Key) -> Iterator[Key]:
    if world.cache.state(key) is not None:
        yield key


def reads_of_resource(world: CachedWorld, key: Key) -> Iterator[Read]:
    """The inverse: the reads whose answers may contain a stored resource."""
    yield object_read(key)
    yield usable_read(key)
    resource = world.cache.shown(key)
    if resource is None:
        return
    yield name_read(key.kind, resource.fq_name)
    yield index_read(key.kind, "all", "")
    for relation in (PARENT, *resource.kind.relations, *resource.kind.mentions):
        yield targets_read(key, relation)
    for way in world.cache.graph.incoming.get(key.kind, ()):
        yield sources_read(key, way.source, way.relation)
    for index, values in world.cache.indexes.offered(key).items():
        for value in values:
            yield index_read(key.kind, index, value)
