"""What a map without one edge leads to: wrong outcomes where nothing heals, a named reaction where reads do.

Also what can be proved without running anything with such a map: that nobody reads along an edge. Which stories there
are is ``corpus.py``'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from intentc.logic.dependencies import ReactionMap
from intentc.model import Key, Read
from intentc.model.reads import object_read, targets_read
from tests.mutation.edges import Pair
from tests.mutation.stories import Corpus, MutantSystem, Story
from tests.support.simulated_clock import simulate
from tests.support.simulated_system import Saved

_BEGINNINGS: dict[tuple[str, bool], Saved] = {}


class Lived(NamedTuple):
    """The outcome of a story. ``missing``: the reactions that recorded reads replaced; ``reads``: which kinds intents
    read, themselves left out."""

    right: bool
    missing: frozenset[Pair]
    reads: frozenset[Pair]


def live(corpus: Corpus, story: Story, reactions: ReactionMap, *, healing: bool) -> Lived:
    """Have an engine with this map live through ``story`` of ``corpus``."""
    return simulate(_live, corpus, story, reactions, healing)


def killer(corpus: Corpus, reactions: ReactionMap, about: Collection[str] | None = None) -> Story | None:
    """The first story (of those about these kinds) that ends wrongly under this map alone; None if none does."""
    return next(killers(corpus, reactions, about), None)


def killers(corpus: Corpus, reactions: ReactionMap, about: Collection[str] | None = None) -> Iterator[Story]:
    """All stories (of those about these kinds) that end wrongly under this map alone, one after the other."""
    stories = (story for story in corpus.stories if about is None or story.kind in about)
    return (story for story in stories if not live(corpus, story, reactions, healing=False).right)


async def _live(corpus: Corpus, story: Story, reactions: ReactionMap, healing: bool) -> Lived:
    begins = await _beginning(corpus, compiled=story.compiled)
    system = MutantSystem(corpus.loaded, reactions, healing=healing, begins=begins)
    await story.live(system)
    await system.settle()
    missing = frozenset(Pair(*pair) for pair in system.engine.progress.missing_reactions)
    return Lived(await corpus.right(system), missing, frozenset(_reads(system)))


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
    for key in world:
        for read in world.reads_of(key):
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
