"""Compares a reaction map with recorded reads: where a path is missing, and which edges are idle.

Recorded reads run every affected intent, so neither makes an output wrong: a missing reaction is a map that says less
than was meant, an idle edge one that says more than this world needs. It examines a converged world; it evaluates and
changes nothing there. The map need not be the world's own. ``dependencies/map_check.py`` checks a map
by itself. State: the counts of one comparison.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec

from intentc.logic.cache import State, Transition
from intentc.logic.cache.states import NO_OFFERS
from intentc.logic.changes import ChangedReads
from intentc.logic.dependencies import DependencyProcessor, Finding, Path, ReactionMap
from intentc.logic.dependencies.map_check import kinds_reached, walk_states
from intentc.logic.dependencies.reactions import SELF, Declared, Edge, edges
from intentc.logic.live_world import LiveWorld
from intentc.model import Key, Read, Schema
from intentc.model.reads import TAKEN, index_read, name_read, object_read, sources_read

Pair = tuple[str, str]
"""Kind of the reader, kind of what it reads."""

_NOWHERE = Key("", "")
_OBJECT = object_read(_NOWHERE)[0]
_NAME = name_read("", ())[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


class Missing(msgspec.Struct, frozen=True):
    """Intents of the kind ``reader`` read objects of the kind ``read``, and no walk leads from these to them.

    ``count``: the pairs of a reader and what it reads. ``example_reader``: the name of one reader; ``example_read``:
    the name of what it reads, or a description of what it would find if that existed.
    """

    reader: str
    read: str
    count: int
    example_reader: str
    example_read: str


class Use(NamedTuple):
    """What an edge is used for. ``walks``: how often a walk reached an intent by it, if each object changed once;
    ``needed``: how often it was on the way to a reader of what changed. An edge with none needed is idle."""

    edge: Edge
    everyone: bool
    source: str
    walks: int
    needed: int


class Coverage(NamedTuple):
    """``missing``: by reader, then by what is read. ``uses``: every edge, in the order of the map."""

    missing: tuple[Missing, ...]
    uses: tuple[Use, ...]

    @property
    def idle(self) -> tuple[Use, ...]:
        """The edges without which every reader in this world would still be reached."""
        return tuple(use for use in self.uses if not use.needed)


def coverage(logic: LiveWorld, reactions: ReactionMap | None = None) -> Coverage:
    """How ``reactions`` (by default the world's own) cover the recorded reads of this world's intents."""
    look = _Look(logic, logic.reactions if reactions is None else reactions)
    for key in logic.cache:
        state = logic.cache.state(key)
        if state is not None:
            look.changed(key, state)
            look.absent(key)
    return look.coverage()


def missing_reaction(reader: str, read: str, example: str, reactions: ReactionMap, schema: Schema) -> Finding:
    """The finding for intents of kind ``reader`` that read the kind ``read`` without a path of the map. ``example``:
    how often, or an example."""
    return Finding(
        _place(reader, read, reactions),
        "warning",
        "MissingReaction",
        f"{reader} reads {read}, but no path of the map leads there ({example}): {_addition(reader, read, schema)}",
    )


def idle_reactions(found: Coverage) -> Iterator[Finding]:
    """The findings for idle edges: each walked edge on its own, the others of one entry together."""
    unwalked: dict[tuple[str, str, str], list[str]] = {}
    for edge, _, source, count, _ in found.idle:
        if count:
            walks = f"{count} walks here, to nobody who reads what changed"
            advice = f"keep it if it is meant, or take {edge.to} out of `{edge.kind}: {edge.cause}:`"
            yield Finding(source, "note", "IdleReaction", f"{edge}: {walks}; {advice}")
        else:
            unwalked.setdefault((edge.kind, edge.cause, source), []).append(edge.to)
    for (kind, cause, source), kinds in unwalked.items():
        edge = Edge(kind, cause, ", ".join(kinds))
        changed = kind if cause == SELF else cause
        yield Finding(
            source,
            "note",
            "IdleReaction",
            f"{edge}: no walk led to an intent this way in these files, so nothing is known of its use; change any "
            f"{changed}",
        )


def _place(reader: str, read: str, reactions: ReactionMap) -> str:
    """The place for the addition: the entry of what is read, else one of the reader, else the map."""
    by_state = {(reaction.kind, reaction.cause): reaction.source for reaction in reactions}
    of_kind = {reaction.kind: reaction.source for reaction in reversed(list(reactions))}
    found = by_state.get((read, SELF)) or of_kind.get(read) or of_kind.get(reader)
    return found or next(iter(by_state.values()), "")


def _addition(reader: str, read: str, schema: Schema) -> str:
    tied = any(
        source.name == one
        for one, other in ((reader, read), (read, reader))
        for source, _ in schema.referring.get(other, ())
    )
    step = reader if tied else f"{{all: {reader}}}"
    why = "" if tied else f", since {read} and {reader} have no relation"
    return f"add {step} to `{read}: self:`{why}, and `{read}: []` to {reader}"


class _Look:
    """One examination of a world, object by object."""

    def __init__(self, logic: LiveWorld, reactions: ReactionMap) -> None:
        self._logic = logic
        self._processor = DependencyProcessor(reactions, logic.neighbours)
        self._edges: Mapping[Edge, Declared] = edges(reactions)
        self._walks = dict.fromkeys(self._edges, 0)
        self._needed = dict.fromkeys(self._edges, 0)
        self._missing: dict[Pair, Missing] = {}
        self._states = walk_states(reactions)
        self._further: dict[str, frozenset[str]] = {}

    def changed(self, key: Key, state: State) -> None:
        """Examine a change or deletion of this object: its readers, and the walk."""
        reads = self._reads_of_change(key, state)
        readers = {reader for read in reads for reader in self._logic.reads.readers(read) if reader != key}
        paths = self._processor.walk([key])
        for reached, path in paths.items():
            self._walked(path, needed=reached in readers or self._trusts(reached))
        for reader in sorted(readers):
            if reader not in paths and self._counts(reader):
                self._note(reader, key.kind, key)

    def absent(self, reader: Key) -> None:
        """Examine the reads of this intent that found nothing: a new object must be able to reach it."""
        reads = sorted(self._logic.reads.reads_of(reader))
        if reads and self._counts(reader):
            for read in reads:
                kind = self._awaited(read)
                if kind is not None and reader.kind not in self._reachable(kind):
                    self._note(reader, kind, read)

    def coverage(self) -> Coverage:
        return Coverage(
            tuple(self._missing[pair] for pair in sorted(self._missing)),
            tuple(
                Use(edge, declared.everyone, declared.source, self._walks[edge], self._needed[edge])
                for edge, declared in self._edges.items()
            ),
        )

    def _reads_of_change(self, key: Key, state: State) -> Collection[Read]:
        """Every recorded read that a change of this object can change: the same as its deletion would."""
        offered = self._logic.cache.indexes.offered(key)
        deleted = Transition(key, state, None, offered, NO_OFFERS)
        changes = ChangedReads(self._logic.cache, (deleted,), (key,), self._logic.reads, "")
        changes.lost()
        return [read for read in changes.reads if read[0] != TAKEN]

    def _walked(self, path: Path, *, needed: bool) -> None:
        taken = tuple(along(path))
        if taken and path[-1].kind in self._logic.intent_kinds:
            self._walks[taken[-1]] += 1
        if needed:
            for edge in taken:
                self._needed[edge] += 1

    def _trusts(self, key: Key) -> bool:
        return self._logic.intent_kinds.get(key.kind, False)

    def _counts(self, reader: Key) -> bool:
        """Whether missing paths count for this reader: no relation leads to a fact, so no map could name it."""
        return self._logic.exists(reader) and not self._logic.contributed(reader.kind, reader.uuid)

    def _awaited(self, read: Read) -> str | None:
        """The kind of the object that would change a read that found nothing; None for a read that found something."""
        logic = self._logic
        match read:
            case (sort, kind, uuid) if sort == _OBJECT:
                found = logic.cache.state(Key(kind, uuid)) is not None
            case (sort, kind, name) if sort == _NAME:
                found = logic.cache.names.in_force(kind, name) is not None
            case (sort, kind, index, value) if sort == _INDEX:
                found = bool(logic.cache.find(kind, index, value))
            case (sort, held_kind, uuid, kind, relation) if sort == _SOURCES:
                found = bool(logic.cache.graph.sources(Key(held_kind, uuid), kind, relation))
            case _:
                return None
        return None if found or kind not in logic.cache.stored else kind

    def _reachable(self, kind: str) -> frozenset[str]:
        if kind not in self._further:
            self._further[kind] = kinds_reached(self._states, kind)
        return self._further[kind]

    def _note(self, reader: Key, kind: str, what: Key | Read) -> None:
        if self._logic.schema.kinds[kind].answers:
            return
        pair = (reader.kind, kind)
        found = self._missing.get(pair)
        if found is None:
            self._missing[pair] = Missing(*pair, 1, self._logic.name_of(reader), self._example(what))
        else:
            self._missing[pair] = msgspec.structs.replace(found, count=found.count + 1)

    def _example(self, what: Key | Read) -> str:
        if isinstance(what, Key):
            return self._logic.name_of(what)
        match what:
            case (sort, _, index, value) if sort == _INDEX:
                example = f"any with {index} {value}" if value else "any"
            case (sort, kind, uuid, _, relation) if sort == _SOURCES:
                example = f"any with the {relation} {self._logic.name_of(Key(kind, uuid))}"
            case (_, _, name, *_):
                example = name
            case _:
                example = ""
        return f"{example} (none is there)"


def along(path: Path) -> Iterator[Edge]:
    """The edges that a walk took, from its origin on; none for a path of one key."""
    cause = SELF
    for here, there in itertools.pairwise(path):
        yield Edge(here.kind, cause, there.kind)
        cause = here.kind
