"""Shows what an engine knows: resources and facts, their names, relations and readers, and the reaction map.

It reads ``logic`` and the applier's state, live, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...evaluation import Naming
from ...journal import Entry
from ...logic import Pending, Service, State
from ...logic.answering import answering, reads_of_resource
from ...logic.coverage import Coverage, coverage
from ...logic.dependencies import Neighbours, Path, ReactionMap
from ...model import Key, Kind, Link, Name, Problem, Read, Resource, Schema, Target
from ...model.resolvers import FQ_NAME, UUID
from ..applier import Applier


class World:
    """``installation``: the name in the marks of the objects that we create. ``names``: other names that people use for
    compiled objects."""

    __slots__ = ("_applier", "_logic", "installation", "names")

    def __init__(self, *, installation: str, logic: Service, applier: Applier, names: Mapping[str, Naming]) -> None:
        self.installation = installation
        self.names = names
        self._logic = logic
        self._applier = applier

    @property
    def schema(self) -> Schema:
        """The kinds."""
        return self._logic.schema

    @property
    def revision(self) -> int:
        """The last applied revision."""
        return self._logic.revision

    @property
    def listed(self) -> bool:
        """Whether the world was listed once."""
        return self._applier.listed

    @property
    def first_listed(self) -> int:
        """The revision of the first listing. A resource that was not written since triggered nothing by a change."""
        return self._applier.first_listed

    def at_start(self, entry: Entry) -> bool:
        """Whether only the start of this process triggered an evaluation."""
        return self._applier.at_start(entry)

    @property
    def reactions(self) -> ReactionMap:
        """The reaction map in force."""
        return self._logic.reactions

    @property
    def intent_kinds(self) -> Mapping[str, bool]:
        """The kinds that have an intent → whether it trusts the reaction map."""
        return self._logic.intent_kinds

    @property
    def stored_kinds(self) -> Collection[str]:
        """The kinds of resources that are kept."""
        return self._logic.cache.stored

    @property
    def unreadable(self) -> Mapping[Key, Problem]:
        """The resources whose values can't be used now, with the reasons."""
        return self._logic.held

    @property
    def unreadable_by_kind(self) -> Mapping[str, int]:
        """Kind → how many of its resources are unreadable."""
        return self._logic.cache.held_of

    def __iter__(self) -> Iterator[Key]:
        """All resources."""
        return iter(self._logic.cache)

    def __len__(self) -> int:
        return len(self._logic.cache)

    def keys(self, kind: str) -> tuple[Key, ...]:
        """All resources of a kind."""
        return self._logic.cache.all(kind)

    def states(self, kind: str) -> list[State]:
        """All resources of a kind, unreadable ones included, as of now."""
        return self._logic.cache.states(kind)

    def exists(self, key: Key) -> bool:
        """Whether such an object is in the store, or such a fact has contributions."""
        return self._logic.exists(key)

    def mod_revision(self, key: Key) -> int:
        """The revision at which this object was last written; 0 if no such object is in the store."""
        return self._logic.mod_revision(key)

    def state(self, key: Key) -> State | None:
        """The resource, readable or not; None if it is not in the store."""
        return self._logic.cache.state(key)

    def resource(self, key: Key) -> Resource | None:
        """The resource; None if it is not in the store. Raises ``HeldInput`` if it can't be read."""
        return self._logic.resource(key)

    def shown(self, key: Key) -> Resource | None:
        """The resource, or the last readable value of one that can't be read; None without either."""
        return self._logic.cache.shown(key)

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
        """The resource that has this name."""
        return self._logic.named(kind, fq_name)

    def uuid_of(self, kind: str, joined: str) -> str | None:
        """The uuid of the resource whose fq_name, joined by ``:``, is this one."""
        return self._logic.cache.names.in_force(kind, joined)

    def name_of(self, key: Key) -> str:
        """The name of a resource for people, its uuid if no name is known."""
        return self._logic.name_of(key)

    def targets(self, key: Key, relation: str) -> tuple[Target, ...]:
        """The resources to which a relation leads."""
        return self._logic.targets(key, relation)

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        """The resources of ``kind`` whose relation leads to this one."""
        return self._logic.sources(key, kind, relation)

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]:
        """The resources of a kind with this value in an index."""
        return self._logic.select(kind, index, value)

    def resolve(self, kind: Kind, link: Link) -> tuple[Key, ...]:
        """The resources to which a link of a resource of ``kind`` leads now."""
        return self._logic.cache.graph.resolve(kind, link)

    def referring(self, key: Key) -> Iterator[Key]:
        """The resources that refer to this one."""
        return self._logic.cache.graph.referring(key)

    def referring_to_name(self, name: Name) -> set[tuple[Key, str]]:
        """The resources that refer to ``name``, by its fq_name or by a uuid given as its name; with the relations."""
        graph, joined = self._logic.cache.graph, ":".join(name.fq_name)
        return {
            (key, way.relation)
            for way in graph.incoming.get(name.kind, ())
            if way.by in (UUID, FQ_NAME)
            for key in graph.sources_by(way, Key(name.kind, ""), joined)
        }

    def wanted_values(self) -> Sequence[tuple[str, str, str, str, str]]:
        """All values that resources want, present or not: source kind, relation, target kind, index, value. Very many:
        process them a few at a time."""
        return self._logic.cache.graph.wanted()

    def pending_references(self, key: Key) -> Iterator[Pending]:
        """The references of a resource whose targets don't exist."""
        return self._logic.cache.graph.pending_of(key)

    def all_pending_references(self) -> Iterator[Pending]:
        """The same of all resources, checking each in turn."""
        return self._logic.cache.graph.pending()

    def readers(self, read: Read) -> frozenset[Key]:
        """The intents whose last evaluation read this."""
        return self._logic.reads.readers(read)

    def reads_of(self, key: Key) -> frozenset[Read]:
        """What the last evaluation of an intent read."""
        return self._logic.reads.reads_of(key)

    def reads_of_resource(self, key: Key) -> Iterator[Read]:
        """The reads that a resource answers."""
        return reads_of_resource(self._logic, key)

    def answering(self, read: Read) -> Iterator[Key]:
        """The resources that answer a read."""
        return answering(self._logic, read)

    def facts(self, kind: str) -> Iterator[str]:
        """The names of all facts of a kind."""
        return self._logic.facts(kind)

    def facts_of(self, contributor: Key) -> tuple[Key, ...]:
        """The facts that an intent yields."""
        return self._logic.facts_of(contributor)

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        """The intents that yield a fact, with their values."""
        return self._logic.contributions(kind, name)

    def walk(self, origins: Iterable[Key]) -> dict[Key, Path]:
        """The intents that a change of ``origins`` affects by the reaction map."""
        return self._logic.walk(origins)

    @property
    def neighbours(self) -> Neighbours:
        """The relations as a walk over a reaction map sees them."""
        return self._logic.neighbours

    def coverage(self, reactions: ReactionMap | None = None) -> Coverage:
        """How a reaction map, by default the one in force, covers the recorded reads of all intents."""
        return coverage(self._logic, reactions)
