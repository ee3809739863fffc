"""``python -m tests.mutation``: removes each edge of the reaction maps in turn, and prints what comes of it.

An edge is needed if a story ends wrongly without it, with nothing to heal the map. Then recorded reads must heal the
story and name a reaction. Any other edge must be listed in ``redundant.yml``.

Exit code 1 if an edge is neither needed nor listed, or listed and needed, or if the needed ones are not enough.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection
from typing import NamedTuple

from intentc.logic.dependencies import ReactionMap
from intentc.logic.dependencies.reactions import Edge, edges
from tests.mutation import corpus, gateway_corpus
from tests.mutation.listed import redundant
from tests.mutation.stories import Corpus, MutantSystem, Story
from tests.simulation.simulated_clock import simulate
from tests.simulation.simulated_system import Saved

_BEGINNINGS: dict[tuple[str, bool], Saved] = {}


class Lived(NamedTuple):
    """The outcome of a story. ``missing``: the reactions (reader, read) that recorded reads replaced."""

    right: bool
    missing: frozenset[tuple[str, str]]


def main() -> int:
    logging.disable(logging.CRITICAL)
    return max([_search(corpus.CORPUS), _search(gateway_corpus.CORPUS)])


def _search(corpus: Corpus) -> int:
    reactions = corpus.loaded.reactions
    listed, found = redundant(), list(edges(reactions))
    killed = wrong = 0
    for edge in found:
        mutant = only(reactions, set(found) - {edge})
        story, why = killer(corpus, mutant), listed.get(edge)
        if story is None:
            verdict = f"redundant: {why.reason}" if why else "SURVIVES, and is not listed"
        else:
            healed = live(corpus, story, mutant, healing=True)
            named = ", ".join(f"{reader} <- {read}" for reader, read in sorted(healed.missing))
            verdict = (
                f"killed by {type(story).__name__} {story.kind}; healed: {healed.right}, named: {named or 'nothing'}"
            )
            killed += 1
            wrong += not (healed.right and healed.missing)
        wrong += (story is None) is (why is None)
        print(f"{edge!s:60} {verdict}", flush=True)
    needed = only(reactions, set(found) - set(listed))
    if (story := killer(corpus, needed)) is not None:
        print(f"the edges that are needed are not enough: {type(story).__name__} {story.kind}")
        wrong += 1
    print(f"{len(found)} edges: {killed} killed, {len(found) - killed} redundant, {wrong} not as listed")
    return 1 if wrong else 0


def only(reactions: ReactionMap, kept: Collection[Edge]) -> ReactionMap:
    """The map that has these edges and no others."""
    return ReactionMap(
        reaction._replace(
            visits=tuple(v for v in reaction.visits if Edge(reaction.kind, reaction.cause, v.kind) in kept)
        )
        for reaction in reactions
    )


def killer(corpus: Corpus, reactions: ReactionMap) -> Story | None:
    """The first story that ends wrongly under this map alone; None if there is none."""
    wrong = (story for story in corpus.stories if not live(corpus, story, reactions, healing=False).right)
    return next(wrong, None)


def live(corpus: Corpus, story: Story, reactions: ReactionMap, *, healing: bool) -> Lived:
    """Have an engine with this map live through ``story`` of ``corpus``."""
    return simulate(_live, corpus, story, reactions, healing)


async def _live(corpus: Corpus, story: Story, reactions: ReactionMap, healing: bool) -> Lived:
    begins = await _beginning(corpus, compiled=story.compiled)
    system = MutantSystem(corpus.loaded, reactions, healing=healing, begins=begins)
    await story.live(system)
    await system.settle()
    return Lived(await corpus.right(system), frozenset(system.engine.evaluator.missing_reactions))


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


if __name__ == "__main__":
    sys.exit(main())
