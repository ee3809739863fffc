"""Finds what a change of the cache affects: whether it is a change of an input, and the reads whose answers it changes.

What compilers write is no input (docs/engine.md §2.3, §5.1, §5.2): the kind leaves out fields that belong to compilers
entirely, and ``input_changed`` leaves out our entries of shared lists. Otherwise the echo of each reference that we add
would start a walk.

A relation holds between two objects if one wants what the other offers, so either end can establish or break it. Both
ends are examined twice: on the graph before for what is lost, on the graph after for what is gained. The result may
hold a read too many (its readers run and find nothing new), never one too few (docs/engine.md §3.1).

State: the reads found for one batch.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from intentc.logic.cache import ALL, Cache, Held, State, Transition, shown
from intentc.logic.cache.states import Offers, counts, name_in_force
from intentc.logic.dependencies import Path, ReadIndex
from intentc.model import Key, Link, Name, Problem, Read, Resource
from intentc.model.kind import Relation
from intentc.model.metadata import differing_parts
from intentc.model.names import FQ_NAME, UUID
from intentc.model.ownership import is_made_by, is_our_entry
from intentc.model.reads import TAKEN, index_read, metadata_read, object_read, sources_read, targets_read, usable_read


class Job(NamedTuple):
    """An intent to look at.

    ``by_readers``: something that it read has changed, or it trusts the reaction map, so it must run; otherwise the
    walk reached it, and its memo may answer. ``path``: the reaction path from the changed object, () if the walk did
    not reach it. ``missing``: (kind of this intent, kind whose change it read) if the map should have led here."""

    by_readers: bool
    path: Path = ()
    missing: tuple[str, str] | None = None


class Affected(NamedTuple):
    """``jobs``: intents to look at, in order. ``objects``: stored objects of any kind that changed in any way, for
    planning. ``deleted``: deleted intents. ``problems``: new reasons to hold. ``cycles``: intents to hold although
    their runs ended well, since their facts form a cycle (docs/engine.md §4.1)."""

    jobs: dict[Key, Job]
    objects: frozenset[Name]
    deleted: frozenset[Key]
    problems: tuple[Problem, ...]
    cycles: tuple[tuple[Key, Problem], ...] = ()


def nobody() -> Affected:
    """The result for a change that affects nothing."""
    return Affected({}, frozenset(), frozenset(), ())


class ChangedReads:
    """Collects the reads that some transitions change. Call ``lost`` before the commit, ``won`` after it.

    ``inputs``: the keys whose input changes. ``readers``: of each read; asked where it is expensive to find out whether
    its answer changed, and for kinds that nobody reads, of which nothing is looked for. ``installation``: distinguishes
    our objects from others.
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
            if key.kind in self._readers.kinds:
                self._identity(key, before, after, offered_before, offered_after)

    def won(self) -> None:
        for key, before, after, offered_before, offered_after in self._transitions:
            if after is not None:
                self._pairs(key, after, before, offered_after, offered_before)
            if key in self._inputs and key.kind in self._readers.kinds:
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
        reads, graph, kinds = self.reads, self._cache.graph, self._readers.kinds
        is_read = key.kind in kinds
        ways = [way for way in graph.incoming.get(key.kind, ()) if is_read or way.source in kinds]
        if not is_read and not ways:
            return
        renamed = self._renamed(here, there)
        own = shown(here)
        if own is not None and is_read:
            for link in own.links if renamed else _only(own.links, shown(there)):
                for target in graph.resolve(own.kind, link):
                    reads[sources_read(target, key.kind, link.relation)] = key.kind
                    # A mention in metadata is no part of the input fields.
                    if key in self._inputs or link.relation in own.kind.mentions:
                        reads[targets_read(key, link.relation)] = key.kind
        name = name_in_force(here)
        name_differs = renamed or name != name_in_force(there)
        for way in ways:
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


def input_changed(transition: Transition, installation: str, cache: Cache) -> bool:
    """Whether a reader of the object, or the intent on it, could see a difference."""
    before, after = transition.before, transition.after
    if before is None or after is None:
        return True
    if isinstance(before, Held) or isinstance(after, Held):
        # A resource that stays held is no news, unless its shown state is lost.
        return not (isinstance(before, Held) and isinstance(after, Held)) or shown(before) is not shown(after)
    if made_differs(before, after, installation):
        return True
    return not same_for_readers(before, after, installation, cache)


def same_for_readers(one: Resource, other: Resource, installation: str, cache: Cache) -> bool:
    """Whether two states of an object are equal apart from what compilers of ``installation`` wrote."""
    kind = one.kind
    if not kind.shared_relations:
        return kind.same_input(one, other)
    if one.raw == other.raw:
        return True
    shared = {f"{name}_refs": kind.relations[name] for name in kind.shared_relations}
    first, second = one.values(), other.values()
    for field in kind.input_fields:
        mine, theirs = getattr(first, field), getattr(second, field)
        if mine == theirs:
            continue
        relation = shared.get(field)
        if relation is None:
            return False
        if _users(mine, relation, one, installation, cache) != _users(theirs, relation, one, installation, cache):
            return False
    return True


def _users(
    entries: tuple[Any, ...], relation: Relation, holder: Resource, installation: str, cache: Cache
) -> list[Any]:
    """The entries that no compiler of this installation wrote."""
    own = _is_made(cache, holder.key, installation)
    return [
        entry
        for entry in entries
        if not is_our_entry(
            relation,
            holder.key.uuid,
            target=entry.to,
            uuid=entry.uuid,
            attribute=getattr(entry, "attr", None),
            installation=installation,
            both_made=own and _is_made(cache, Key(relation.name, entry.uuid), installation),
        )
    ]


def _is_made(cache: Cache, key: Key, installation: str) -> bool:
    """Whether a compiler of ``installation`` made an object."""
    state = cache.state(key)
    return isinstance(state, Resource) and is_ours(state, installation)
