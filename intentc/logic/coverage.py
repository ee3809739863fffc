"""A reaction map beside what was really read: where it has no path though somebody reads, and which of its edges lead
to nobody who does.

Recorded reads run whoever is concerned, so neither makes an output wrong: a missing reaction is a map that says less
than was meant, an idle edge one that says more than this world needs. Asked of a world that has come to rest; nothing
is evaluated and nothing changes. The map may be another one than the world's own.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from typing import NamedTuple

import msgspec

from intentc.logic.cache import State, Transition
from intentc.logic.cache.states import NO_OFFERS
from intentc.logic.dependencies import DependencyProcessor, Path, ReactionMap
from intentc.logic.dependencies.edges import Declared, Edge, along, edges
from intentc.logic.dependencies.reactions import SELF
from intentc.model import Key, Read
from intentc.model.reads import TAKEN, index_read, name_read, object_read, sources_read

from .changes import ChangedReads
from .service import Service

Pair = tuple[str, str]
"""Kind of the reader, kind of what it reads."""

_SLICE = 2_000
"""Steps between two moments at which others have their turn: a few milliseconds."""

_NOWHERE = Key("", "")
_OBJECT = object_read(_NOWHERE)[0]
_NAME = name_read("", ())[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


class Missing(msgspec.Struct, frozen=True):
    """Intents of the kind ``reader`` read objects of the kind ``read``, and no walk leads to them from there.

    ``count``: pairs of a reader and what it reads. ``example_reader``: the name of one; ``example_read``: the name of
    what it reads, or in words what it would find if it were there.
    """

    reader: str
    read: str
    count: int
    example_reader: str
    example_read: str


class Use(NamedTuple):
    """What an edge is good for. ``walks``: how often a walk came to an intent by it, if each object changed once;
    ``needed``: how often it lay on the way to one who reads what changed. Idle is an edge that nobody needs."""

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
        """The edges without which everybody in this world would be reached just the same."""
        return tuple(use for use in self.uses if not use.needed)


def coverage(logic: Service, reactions: ReactionMap | None = None) -> Coverage:
    """``slices``, all at once."""
    going = slices(logic, reactions)
    while True:
        try:
            next(going)
        except StopIteration as end:
            found: Coverage = end.value
            return found


def slices(logic: Service, reactions: ReactionMap | None = None) -> Generator[None, None, Coverage]:
    """How ``reactions`` (by default the world's own) cover what the intents of this world have read. Gives others
    their turn at each ``yield``, and its result at the end (``yield from``)."""
    look = _Look(logic, logic.reactions if reactions is None else reactions)
    steps = 0
    for key in logic.cache:
        state = logic.cache.state(key)
        if state is None:
            continue
        steps += look.changed(key, state) + look.absent(key)
        if steps >= _SLICE:
            steps = 0
            yield
    return look.coverage()


class _Look:
    """One look over a world, object by object."""

    def __init__(self, logic: Service, reactions: ReactionMap) -> None:
        self._logic = logic
        self._processor = DependencyProcessor(reactions, logic.neighbours)
        self._edges: Mapping[Edge, Declared] = edges(reactions)
        self._walks = dict.fromkeys(self._edges, 0)
        self._needed = dict.fromkeys(self._edges, 0)
        self._missing: dict[Pair, Missing] = {}
        self._further: dict[str, frozenset[str]] = {}
        """Kind → the kinds that a change of one can reach at all."""

    def changed(self, key: Key, state: State) -> int:
        """Whom it concerns if this object is another, or gone: by reads, and by the map. Returns the steps taken."""
        reads = self._reads_of_change(key, state)
        readers = {reader for read in reads for reader in self._logic.reads.readers(read) if reader != key}
        paths = self._processor.walk([key])
        for reached, path in paths.items():
            self._walked(path, needed=reached in readers or self._trusts(reached))
        for reader in sorted(readers):
            if reader not in paths and self._counts(reader):
                self._note(reader, key.kind, key)
        return len(reads) + len(paths)

    def absent(self, reader: Key) -> int:
        """What this intent read in vain: one that comes must be able to reach it."""
        reads = sorted(self._logic.reads.reads_of(reader))
        if reads and self._counts(reader):
            for read in reads:
                kind = self._awaited(read)
                if kind is not None and reader.kind not in self._reachable(kind):
                    self._note(reader, kind, read)
        return len(reads)

    def coverage(self) -> Coverage:
        return Coverage(
            tuple(self._missing[pair] for pair in sorted(self._missing)),
            tuple(
                Use(edge, declared.everyone, declared.source, self._walks[edge], self._needed[edge])
                for edge, declared in self._edges.items()
            ),
        )

    def _reads_of_change(self, key: Key, state: State) -> Collection[Read]:
        """Every read that a change of this object can change: those that its end would."""
        offered = self._logic.cache.indexes.offered(key)
        gone = Transition(key, state, None, offered, NO_OFFERS)
        changes = ChangedReads(self._logic.cache, (gone,), (key,), _always, "")
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
        """No relation leads to a fact, so no map could name it."""
        return self._logic.exists(reader) and not self._logic.contributed(reader.kind, reader.uuid)

    def _awaited(self, read: Read) -> str | None:
        """The kind of what would change a read that found nothing; None for one that found something."""
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
        found = self._further.get(kind)
        if found is None:
            found = self._further[kind] = self._reach(kind)
        return found

    def _reach(self, kind: str) -> frozenset[str]:
        after: dict[tuple[str, str], list[str]] = {}
        for edge in self._edges:
            after.setdefault((edge.kind, edge.cause), []).append(edge.to)
        seen: set[tuple[str, str]] = set()
        waiting = [(kind, SELF)]
        while waiting:
            here = waiting.pop()
            for to in after.get(here, ()):
                there = (to, here[0])
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
        return frozenset(reached for reached, _ in seen)

    def _note(self, reader: Key, kind: str, what: Key | Read) -> None:
        pair = (reader.kind, kind)
        found = self._missing.get(pair)
        if found is None:
            self._missing[pair] = Missing(*pair, 1, self._logic.name_of(reader), self._told(what))
        else:
            self._missing[pair] = msgspec.structs.replace(found, count=found.count + 1)

    def _told(self, what: Key | Read) -> str:
        if isinstance(what, Key):
            return self._logic.name_of(what)
        match what:
            case (sort, _, index, value) if sort == _INDEX:
                told = f"any with {index} {value}" if value else "any"
            case (sort, kind, uuid, _, relation) if sort == _SOURCES:
                told = f"any with the {relation} {self._logic.name_of(Key(kind, uuid))}"
            case (_, _, name, *_):
                told = name
            case _:
                told = ""
        return f"{told} (none is there)"


def _always(read: Read) -> bool:
    return True
