"""The tables that find resources: by name, by the values that they offer, and by relations in both directions.

Each resource holds its forward links as written. ``Graph`` indexes the reverse: which resource wants which value.
Whether a link has a target is computed at read time from both ends, so resources may arrive in any order and a forward
reference needs no repair. ``logic`` finds the reads that a change affects.

State: these tables, in memory; only ``cache.py`` changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from intentc.logic.cache.states import NO_OFFERS, Held, Offers, State, name_in_force, shown
from intentc.model import Key, Kind, Link, Problem, Resource, Schema
from intentc.model.multimap import MultiMap
from intentc.model.names import FQ_NAME, RESOLVERS, UUID, Resolver


def offers_of(resource: Resource | None) -> Offers:
    """The values that ``resource`` offers, by declared index."""
    if resource is None or not resource.kind.indexes:
        return NO_OFFERS
    return {index: resource.offers(index) for index in resource.kind.indexes}


class IndexTable:
    """(kind, index, value) → the keys that offer it, and the reverse."""

    def __init__(self) -> None:
        self._members: MultiMap[tuple[str, str, str], Key] = MultiMap()
        self._offers: dict[Key, Offers] = {}

    def replace(self, key: Key, offers: Offers) -> None:
        """Set the offers of ``key``; ``NO_OFFERS`` removes it."""
        before = self._offers.get(key, NO_OFFERS)
        for index, values in before.items():
            for value in values:
                self._members.discard((key.kind, index, value), key)
        for index, values in offers.items():
            for value in values:
                self._members.add((key.kind, index, value), key)
        if offers:
            self._offers[key] = offers
        else:
            self._offers.pop(key, None)

    def offered(self, key: Key) -> Offers:
        """The present offers of ``key``."""
        return self._offers.get(key, NO_OFFERS)

    def find(self, kind: str, index: str, value: str) -> Collection[Key]:
        """The keys of ``kind`` that offer ``value`` in ``index``."""
        return self._members.get((kind, index, value))


class NameTable:
    """Kind and joined fq_name → the uuids of its holders; the first one has the name."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, str | tuple[str, ...]]] = {}

    def holders(self, kind: str, name: str) -> tuple[str, ...]:
        found = self._kinds.get(kind, {}).get(name, ())
        return (found,) if isinstance(found, str) else found

    def in_force(self, kind: str, name: str) -> str | None:
        """The uuid of the object that has the name now."""
        found = self._kinds.get(kind, {}).get(name)
        return found[0] if isinstance(found, tuple) else found

    def replace(self, kind: str, name: str, uuids: Sequence[str]) -> None:
        """Set the holders of a name, in order; an empty sequence frees it."""
        table = self._kinds.setdefault(kind, {})
        if uuids:
            table[name] = uuids[0] if len(uuids) == 1 else tuple(uuids)
        else:
            table.pop(name, None)


def precedence(state: State) -> tuple[int, str]:
    """The sort key for the holders of one name."""
    return state.create_revision, state.key.uuid


def given_name(state: State) -> State:
    """``state`` once it has its name."""
    if not isinstance(state, Held) or state.in_force:
        return state
    if state.parked is not None:
        return state.parked
    return Held(state.key, state.fq_name, state.create_revision, state.mod_revision, state.problem)


def rejected_name(state: State, holder: State) -> State:
    """``state`` while ``holder`` has its name."""
    if isinstance(state, Held) and state.parked is None:
        if not state.in_force:
            return state
        return Held(state.key, state.fq_name, state.create_revision, state.mod_revision, state.problem, in_force=False)
    resource = state.parked if isinstance(state, Held) else state
    assert resource is not None
    name = ":".join(state.fq_name)
    problem = Problem(
        kind=state.key.kind,
        name=name,
        reason="NameTaken",
        message=f"{name} exists twice: {holder.key} was there first and stays in force, {state.key} is held; "
        f"delete one of them, or give it another name",
        source=f"{state.key}@{state.mod_revision}",
    )
    if isinstance(state, Held) and state.problem == problem:
        return state
    return Held(
        state.key,
        state.fq_name,
        state.create_revision,
        state.mod_revision,
        problem,
        parked=resource,
        in_force=False,
    )


Wanted = tuple[str, str, str, str, str]
"""(source kind, relation, target kind, index, probe value)."""


class Incoming(NamedTuple):
    """A way in which resources of ``source`` can refer to a kind: by ``relation``, found ``by`` an index."""

    source: str
    relation: str
    by: str


class Pending(NamedTuple):
    """A reference of ``key`` whose target has not arrived."""

    key: Key
    link: Link


class Graph:
    """The links of all shown resources. ``states``: kind → uuid → state, owned by the cache."""

    def __init__(
        self, schema: Schema, states: Mapping[str, Mapping[str, State]], names: NameTable, indexes: IndexTable
    ) -> None:
        self._schema = schema
        self._states = states
        self._names = names
        self._indexes = indexes
        self._wanting: MultiMap[Wanted, Key] = MultiMap()
        self.incoming: Mapping[str, tuple[Incoming, ...]] = {
            target: tuple(dict.fromkeys(_incoming(referring))) for target, referring in schema.referring.items()
        }
        """Target kind → the ways in which resources can refer to it."""

    def replace(self, key: Key, before: tuple[Link, ...], after: tuple[Link, ...]) -> None:
        """Replace the links of one resource."""
        if before == after:
            return
        kind = self._schema.kinds[key.kind]
        old = {_wanted(kind, link) for link in before}
        new = {_wanted(kind, link) for link in after}
        for wanted in old - new:
            self._wanting.discard(wanted, key)
        for wanted in new - old:
            self._wanting.add(wanted, key)

    def resolve(self, kind: Kind, link: Link) -> tuple[Key, ...]:
        """The present targets of a link of a resource of ``kind``: at most one for uuid and name, else any number."""
        if link.by == UUID:
            state = self._states.get(link.kind, {}).get(link.value)
            return (state.key,) if state is not None else ()
        if link.by == FQ_NAME:
            uuid = self._names.in_force(link.kind, link.value)
            return (self._states[link.kind][uuid].key,) if uuid is not None else ()
        resolver = _resolver(kind, link)
        return tuple(
            candidate
            for candidate in self._indexes.find(link.kind, link.by, resolver.probe(link.value))
            if resolver.accepts(link.value, self._indexes.offered(candidate)[link.by])
        )

    def targets(self, key: Key, relation: str) -> set[Key]:
        """All present objects that ``key`` refers to by ``relation``."""
        resource = shown(self._states.get(key.kind, {}).get(key.uuid))
        if resource is None:
            return set()
        return {
            target
            for link in resource.links
            if link.relation == relation
            for target in self.resolve(resource.kind, link)
        }

    def sources(self, key: Key, kind: str, relation: str) -> set[Key]:
        """All objects of ``kind`` that refer to ``key`` by ``relation``; none while ``key`` is absent."""
        found: set[Key] = set()
        state = self._states.get(key.kind, {}).get(key.uuid)
        if state is not None:
            for way in self.incoming.get(key.kind, ()):
                if way.source == kind and way.relation == relation:
                    found.update(self._by(way, key, state))
        return found

    def sources_by(self, way: Incoming, key: Key, value: str) -> Collection[Key]:
        """The objects that refer to ``key`` in the given way because it offers ``value``."""
        candidates = self._wanting.get((way.source, way.relation, key.kind, way.by, value))
        if not candidates or way.by in (UUID, FQ_NAME):
            return candidates
        offered = self._indexes.offered(key).get(way.by, ())
        return [candidate for candidate in candidates if self._accepted(way, candidate, offered)]

    def _accepted(self, way: Incoming, candidate: Key, offered: Collection[str]) -> bool:
        resource = shown(self._states[candidate.kind][candidate.uuid])
        assert resource is not None
        links = (link for link in resource.links if link.relation == way.relation and link.by == way.by)
        return any(_resolver(resource.kind, link).accepts(link.value, offered) for link in links)

    def related(self, key: Key, kind: str) -> set[Key]:
        """All objects of ``kind`` that have a relation to ``key``, in either direction."""
        state = self._states.get(key.kind, {}).get(key.uuid)
        if state is None:
            return set()
        found: set[Key] = set()
        resource = shown(state)
        if resource is not None:
            for link in resource.links:
                if link.kind == kind:
                    found.update(self.resolve(resource.kind, link))
        for way in self.incoming.get(key.kind, ()):
            if way.source == kind:
                found.update(self._by(way, key, state))
        return found

    def referring(self, key: Key) -> Iterator[Key]:
        """All objects that refer to ``key``; one that does so twice may be listed twice."""
        state = self._states.get(key.kind, {}).get(key.uuid)
        if state is not None:
            for way in self.incoming.get(key.kind, ()):
                yield from self._by(way, key, state)

    def wanted(self) -> tuple[Wanted, ...]:
        """All wanted values, present or not: very many, so process them a few at a time."""
        return self._wanting.keys()

    def pending(self) -> Iterator[Pending]:
        """The references by uuid or name whose target is absent; checks each resource in turn."""
        for states in list(self._states.values()):
            for state in list(states.values()):
                yield from self.pending_of(state.key)

    def pending_of(self, key: Key) -> Iterator[Pending]:
        """The references of one resource by uuid or name whose target is absent."""
        resource = shown(self._states.get(key.kind, {}).get(key.uuid))
        if resource is not None:
            for link in resource.links:
                if link.by in (UUID, FQ_NAME) and not self.resolve(resource.kind, link):
                    yield Pending(key, link)

    def _by(self, way: Incoming, key: Key, state: State) -> Iterator[Key]:
        if way.by == UUID:
            yield from self.sources_by(way, key, key.uuid)
        elif way.by == FQ_NAME:
            if name := name_in_force(state):
                yield from self.sources_by(way, key, name)
        else:
            for value in self._indexes.offered(key).get(way.by, ()):
                yield from self.sources_by(way, key, value)


def _incoming(referring: list[tuple[Kind, str]]) -> Iterator[Incoming]:
    for kind, relation in referring:
        if relation in kind.mentions:
            yield Incoming(kind.name, relation, RESOLVERS[kind.mentions[relation].resolver].offered_in)
        if relation in kind.relations or relation == "parent":
            yield Incoming(kind.name, relation, UUID)
            yield Incoming(kind.name, relation, FQ_NAME)


def _resolver(kind: Kind, link: Link) -> Resolver:
    return RESOLVERS[kind.mentions[link.relation].resolver]


def _wanted(kind: Kind, link: Link) -> Wanted:
    by = link.by
    probe = link.value if by in (UUID, FQ_NAME) else _resolver(kind, link).probe(link.value)
    return (kind.name, link.relation, link.kind, by, probe)
