"""Finds the reads whose answers a change of the cache changes, those of metadata included (docs/engine.md §3.1).

A relation holds between two objects if one wants what the other offers, so either end can establish or break it. Both
ends are examined twice: on the graph before for what is lost, on the graph after for what is gained. The result may
hold a read too many (its readers run and find nothing new), never one too few. ``equality.py`` decides whether an input
has changed.

It reads the graph, and changes nothing there. State: the reads found for one batch.
"""

from __future__ import annotations

from collections.abc import Collection

from intentc.logic.cache import ALL, Cache, State, Transition, shown
from intentc.logic.cache.states import Offers, counts, name_in_force
from intentc.logic.dependencies import ReadIndex
from intentc.model import Key, Link, Name, Read, Resource
from intentc.model.metadata import differing_parts
from intentc.model.ownership import is_made_by
from intentc.model.reads import TAKEN, index_read, metadata_read, object_read, sources_read, targets_read, usable_read
from intentc.model.resolvers import FQ_NAME, UUID


class ChangedReads:
    """Collects the reads that some transitions change. Call ``lost`` before the commit, ``won`` after it.

    ``inputs``: the keys whose input changes. ``readers``: of each read; asked only where it is expensive to find out
    whether its answer changed. ``installation``: distinguishes our objects from others.
    """

    def __init__(
        self,
        cache: Cache,
        transitions: Collection[Transition],
        inputs: Collection[Key],
        readers: ReadIndex,
        installation: str,
    ) -> None:
        self._cache = cache
        self._transitions = transitions
        self._inputs = inputs
        self._readers = readers
        self._installation = installation
        self.reads: dict[Read, str] = {}
        """Changed read → the kind of an object that changed it."""

    def lost(self) -> None:
        for key, before, after, offered_before, offered_after in self._transitions:
            if before is not None:
                self._pairs(key, before, after, offered_before, offered_after)
            self._identity(key, before, after, offered_before, offered_after)

    def won(self) -> None:
        for key, before, after, offered_before, offered_after in self._transitions:
            if after is not None:
                self._pairs(key, after, before, offered_after, offered_before)
            if key in self._inputs:
                self._attributes(key, before, after)

    def _identity(
        self, key: Key, before: State | None, after: State | None, offered_before: Offers, offered_after: Offers
    ) -> None:
        reads, kind = self.reads, key.kind
        if key in self._inputs:
            reads[object_read(key)] = kind
        former, name = name_in_force(before), name_in_force(after)
        if former != name:
            for changed in (former, name):
                if changed:
                    reads["name", kind, changed] = kind
                    reads[index_read(kind, FQ_NAME, changed)] = kind
        self._taken(key, before, after, {former, name} - {""})
        self._metadata(key, before, after)
        if counts(before) != counts(after):
            reads[index_read(kind, ALL, "")] = kind
        if (shown(before) is None) != (shown(after) is None):
            reads[index_read(kind, UUID, key.uuid)] = kind
            if name:
                reads[index_read(kind, FQ_NAME, name)] = kind
        renamed = self._renamed(before, after)
        if renamed:
            reads[index_read(kind, ALL, "")] = kind
        if offered_before is not offered_after or renamed:
            for index in {*offered_before, *offered_after}:
                former_values, values = set(offered_before.get(index, ())), set(offered_after.get(index, ()))
                for value in former_values | values if renamed else former_values ^ values:
                    reads[index_read(kind, index, value)] = kind

    def _metadata(self, key: Key, before: State | None, after: State | None) -> None:
        if not isinstance(before, Resource) or not isinstance(after, Resource):
            self.reads[usable_read(key)] = key.kind
            return
        self.reads.update((read, key.kind) for read in watched_metadata(before, after, self._readers))

    def _taken(self, key: Key, before: State | None, after: State | None, names: Collection[str]) -> None:
        """Whether the name counts as taken by others may change although the name stays: by a mark added or removed."""
        for name in names:
            read = (TAKEN, key.kind, name)
            if self._readers.has_any(read) and self._takes(before, name) != self._takes(after, name):
                self.reads[read] = key.kind

    def _takes(self, state: State | None, name: str) -> bool:
        """Whether the name belongs to an object that we did not make. The owner of an unreadable object is unknown, so
        it counts as another's."""
        if name_in_force(state) != name:
            return False
        return not (isinstance(state, Resource) and is_ours(state, self._installation))

    def _pairs(self, key: Key, here: State, there: State | None, offered: Offers, offered_there: Offers) -> None:
        """The relations of ``key`` that hold on the present graph because of what only the state ``here`` has."""
        reads, graph = self.reads, self._cache.graph
        renamed = self._renamed(here, there)
        own = shown(here)
        if own is not None:
            for link in own.links if renamed else _only(own.links, shown(there)):
                for target in graph.resolve(own.kind, link):
                    reads[sources_read(target, key.kind, link.relation)] = key.kind
                    # A mention in metadata is no part of the input fields.
                    if key in self._inputs or link.relation in own.kind.mentions:
                        reads[targets_read(key, link.relation)] = key.kind
        name = name_in_force(here)
        name_differs = renamed or name != name_in_force(there)
        for way in graph.incoming.get(key.kind, ()):
            if way.by == UUID:
                values: tuple[str, ...] = (key.uuid,) if there is None or renamed else ()
            elif way.by == FQ_NAME:
                values = (name,) if name and name_differs else ()
            else:
                mine = offered.get(way.by, ())
                # All offers of an index count, not only the new ones: a selector matches them together.
                values = mine if renamed or mine != offered_there.get(way.by, ()) else ()
            for value in values:
                for source in graph.sources_by(way, key, value):
                    reads[targets_read(source, way.relation)] = key.kind
                    reads[sources_read(key, source.kind, way.relation)] = key.kind

    def _attributes(self, key: Key, before: State | None, after: State | None) -> None:
        """Note references that have the same target, but another attribute."""
        one, other = shown(before), shown(after)
        if one is None or other is None or one is other:
            return
        for relation in one.kind.relations.values():
            read = targets_read(key, relation.name)
            if relation.attribute and read not in self.reads and self._readers.has_any(read):
                former, present = one.references(relation.name), other.references(relation.name)
                if former != present:
                    self.reads[read] = key.kind

    def _renamed(self, one: State | None, other: State | None) -> bool:
        """Whether the name changed, or whose the object is. Sets are sorted by the members' names, and references
        between two objects that we made are hidden, so that either changes every set it is in."""
        if one is None or other is None:
            return False
        return one.fq_name != other.fq_name or made_differs(one, other, self._installation)


def watched_metadata(before: Resource, after: Resource, readers: ReadIndex) -> list[Read]:
    """The reads of metadata that have readers, and another answer after than before. Others are not looked for: most
    changes of metadata concern nobody, and values must be decoded to find them."""
    key = after.key
    if not after.kind.written_as_manifests or before.raw == after.raw or not readers.has_any(usable_read(key)):
        return []
    parts = differing_parts(before.values().metadata, after.values().metadata)
    return [read for read in (metadata_read(key, *part) for part in parts) if readers.has_any(read)]


def made_differs(one: State, other: State, installation: str) -> bool:
    """Whether somebody added or removed the mark by which an object is ours."""
    if not isinstance(one, Resource) or not isinstance(other, Resource) or one.mark == other.mark:
        return False
    return is_ours(one, installation) != is_ours(other, installation)


def is_ours(resource: Resource, installation: str) -> bool:
    """Whether a compiler of ``installation`` made this object."""
    return is_made_by(installation, resource.mark, Name(resource.key.kind, resource.fq_name), resource.key.uuid)


def _only(links: tuple[Link, ...], other: object) -> Collection[Link]:
    their_links: tuple[Link, ...] = getattr(other, "links", ())
    if links == their_links:
        return ()
    return set(links).difference(their_links)
