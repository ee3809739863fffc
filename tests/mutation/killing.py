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
from tests.mutation.stories import Corpus, MutantLaboratory, Story
from tests.support.simulated_clock import simulate


class Told(NamedTuple):
    """What came of a story. ``missing``: the reactions that recorded reads stood in for; ``reads``: whom intents read,
    themselves left out."""

    right: bool
    missing: frozenset[Pair]
    reads: frozenset[Pair]


def tell(corpus: Corpus, story: Story, reactions: ReactionMap, *, healing: bool) -> Told:
    """Have an engine with this map live through ``story`` of ``corpus``."""
    return simulate(_tell, corpus, story, reactions, healing)


def killer(corpus: Corpus, reactions: ReactionMap, about: Collection[str] | None = None) -> Story | None:
    """The first story (of those about these kinds) that ends wrongly under this map alone; None if none does."""
    stories = (story for story in corpus.stories if about is None or story.kind in about)
    return next((story for story in stories if not tell(corpus, story, reactions, healing=False).right), None)


async def _tell(corpus: Corpus, story: Story, reactions: ReactionMap, healing: bool) -> Told:
    lab = MutantLaboratory(corpus.loaded, reactions, healing=healing)
    await lab.start()
    await story.tell(lab)
    await lab.settle()
    missing = frozenset(Pair(*pair) for pair in lab.engine.evaluator.missing_reactions)
    return Told(await corpus.right(lab), missing, frozenset(_reads(lab)))


def _reads(lab: MutantLaboratory) -> Iterator[Pair]:
    logic = lab.engine.parts.logic
    for key in logic.cache:
        for read in logic.reads.reads_of(key):
            for kind in _kinds(lab, key, read):
                yield Pair(key.kind, kind)


def _kinds(lab: MutantLaboratory, reader: Key, read: Read) -> set[str]:
    """The kinds of the other resources whose changes can change what ``read`` gives."""
    match read:
        case ("object", *_) if read == object_read(reader):
            return set()
        case ("targets", kind, uuid, relation):
            holder = Key(kind, uuid)
            others = {target.key.kind for target in lab.engine.parts.logic.targets(holder, relation)}
            return others if read == targets_read(reader, relation) else {*others, kind}
        case ("sources", kind, uuid, source, _):
            return {source} if Key(kind, uuid) == reader else {source, kind}
        case ("allocation" | "setting" | "fact", *_):
            return set()
        case (_, kind, *_):
            return {kind}
    raise AssertionError(f"a read of an unknown sort: {read}")
