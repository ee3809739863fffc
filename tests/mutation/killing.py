"""What a map without one edge leads to: wrong outcomes where nothing heals, a named reaction where reads do.

Also what can be proved without running anything with such a map: that nobody reads along an edge. Which stories there
are is ``corpus.py``'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple
from unittest import mock

from intentc.logic.changes import Job
from intentc.logic.dependencies import DependencyProcessor, Path, ReactionMap
from intentc.logic.service import Service
from intentc.model import Key, Read
from intentc.model.reads import object_read, targets_read
from tests.mutation.edges import Edge, Pair, edges, on_path
from tests.mutation.stories import Corpus, MutantSystem, Story
from tests.support.simulated_clock import simulate
from tests.support.simulated_system import Saved

_BEGINNINGS: dict[tuple[str, bool], Saved] = {}


class Lived(NamedTuple):
    """The outcome of a story. ``missing``: the reactions that recorded reads replaced; ``reads``: which kinds intents
    read, themselves left out; ``walked``: the edges on the paths that walks found; ``missed``: whether walks by the
    map ``beside``, if there is one, would not have reached an intent that ran because one of these walks reached it."""

    right: bool
    missing: frozenset[Pair]
    reads: frozenset[Pair]
    walked: frozenset[Edge]
    beside: ReactionMap | None
    missed: bool


def live(
    corpus: Corpus, story: Story, reactions: ReactionMap, *, healing: bool, beside: ReactionMap | None = None
) -> Lived:
    """Have an engine with this map live through ``story`` of ``corpus``. ``beside``: a map by which each walk is walked
    a second time, to compare; it decides nothing."""
    return simulate(_live, corpus, story, reactions, healing, beside)


def killer(
    corpus: Corpus,
    reactions: ReactionMap,
    about: Collection[str] | None = None,
    whole: Sequence[Lived] = (),
) -> Story | None:
    """The first of ``killers``; None if there is none."""
    return next(killers(corpus, reactions, about, whole), None)


def killers(
    corpus: Corpus,
    reactions: ReactionMap,
    about: Collection[str] | None = None,
    whole: Sequence[Lived] = (),
) -> Iterator[Story]:
    """All stories (of those about these kinds) that end wrongly under this map alone, one after the other.

    ``whole``: how all stories end under the whole map, with nothing to heal it, if that is known. One is not lived
    again if no path of a walk had an edge that ``reactions`` lacks: without such edges each walk finds the same paths,
    the map does nothing else, and nothing is random, so that the story ends in the same way. Nor if walks by
    ``reactions`` were compared with those (``beside``), and missed no intent that ran: the same intents run then.
    """
    lacking = {*edges(corpus.loaded.reactions)} - {*edges(reactions)}
    for position, story in enumerate(corpus.stories):
        if about is not None and story.kind not in about:
            continue
        known = whole[position] if whole else None
        if known is not None and (not lacking & known.walked or (known.beside is reactions and not known.missed)):
            right = known.right
        else:
            right = live(corpus, story, reactions, healing=False).right
        if not right:
            yield story


async def _live(
    corpus: Corpus, story: Story, reactions: ReactionMap, healing: bool, beside: ReactionMap | None
) -> Lived:
    begins = await _beginning(corpus, compiled=story.compiled)
    system = MutantSystem(corpus.loaded, reactions, healing=healing, begins=begins)
    with _walks() as walked, _walks_beside(beside) if beside is not None else nullcontext(set[Key]()) as missed:
        await story.live(system)
        await system.settle()
    missing = frozenset(Pair(*pair) for pair in system.engine.progress.missing_reactions)
    return Lived(
        await corpus.right(system), missing, frozenset(_reads(system)), frozenset(walked), beside, bool(missed)
    )


@contextmanager
def _walks() -> Iterator[set[Edge]]:
    """The edges on the paths that walks find meanwhile."""
    found: set[Edge] = set()
    walk = DependencyProcessor.walk

    def noted(self: DependencyProcessor, origins: Iterable[Key]) -> dict[Key, Path]:
        paths = walk(self, origins)
        for path in paths.values():
            found.update(on_path([key.kind for key in path]))
        return paths

    with mock.patch.object(DependencyProcessor, "walk", noted):
        yield found


@contextmanager
def _walks_beside(beside: ReactionMap) -> Iterator[set[Key]]:
    """The intents that ran meanwhile since a walk reached them, and that no walk of the map ``beside`` reached."""
    missed: set[Key] = set()
    reached: set[Key] = set()
    walk, jobs = DependencyProcessor.walk, Service._jobs

    def walked_twice(self: DependencyProcessor, origins: Iterable[Key]) -> dict[Key, Path]:
        changed = tuple(origins)
        reached.update(walk(DependencyProcessor(beside, self._neighbours), changed))
        return walk(self, changed)

    def compared(self: Service, changed: Mapping[Read, str], walked: Mapping[Key, Path]) -> dict[Key, Job]:
        # Whatever else a walk reaches is answered from memory (docs/engine.md §3).
        runs = {reader for read in changed for reader in self.reads.readers(read)}
        runs.update(key for key in walked if self.intent_kinds.get(key.kind))
        missed.update(key for key in runs & walked.keys() - reached if len(walked[key]) > 1)
        reached.clear()
        return jobs(self, changed, walked)

    with mock.patch.object(DependencyProcessor, "walk", walked_twice), mock.patch.object(Service, "_jobs", compared):
        yield missed


async def _beginning(corpus: Corpus, *, compiled: bool) -> Saved:
    """The world in which stories begin. It is put, and compiled under the whole map, once for all of them."""
    known = corpus.loaded.compilers[0].name, compiled
    if known not in _BEGINNINGS:
        system = MutantSystem(corpus.loaded, corpus.loaded.reactions, healing=True)
        await system.start()
        await corpus.put(system)
        if compiled:
            await system.settle()
        _BEGINNINGS[known] = await system.saved()
    return _BEGINNINGS[known]


def _reads(system: MutantSystem) -> Iterator[Pair]:
    world = system.engine.world
    for key in world.cache:
        for read in world.reads.reads_of(key):
            for kind in _kinds(system, key, read):
                yield Pair(key.kind, kind)


def _kinds(system: MutantSystem, reader: Key, read: Read) -> set[str]:
    """The kinds of the other resources whose changes can change what ``read`` gives."""
    match read:
        case ("object", *_) if read == object_read(reader):
            return set()
        case ("targets", kind, uuid, relation):
            holder = Key(kind, uuid)
            others = {target.key.kind for target in system.engine.world.targets(holder, relation)}
            return others if read == targets_read(reader, relation) else {*others, kind}
        case ("sources", kind, uuid, source, _):
            return {source} if Key(kind, uuid) == reader else {source, kind}
        case ("allocation" | "setting" | "fact", *_):
            return set()
        case (_, kind, *_):
            return {kind}
    raise AssertionError(f"a read of an unknown sort: {read}")
