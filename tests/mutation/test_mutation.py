"""Recorded reads replace the reaction map: stories end rightly under a map without edges, and reactions are named.

``make mutation`` removes each edge on its own, and tries all stories.
"""

from __future__ import annotations

import pytest

from intentc.logic.dependencies import ReactionMap
from intentc.logic.dependencies.reactions import Edge, edges
from tests.mutation import corpus, gateway_corpus
from tests.mutation.__main__ import live
from tests.mutation.listed import PAGE, page_with, redundant, table

CORPORA = {"contrail": corpus.CORPUS, "ambassador": gateway_corpus.CORPUS}
NO_EDGE = ReactionMap()
SOME = 6
"""Of so many stories one is lived."""


@pytest.mark.parametrize("compiler", CORPORA)
def test_without_any_edge_stories_end_rightly_and_reactions_are_named(compiler: str) -> None:
    corpus = CORPORA[compiler]
    lived = [live(corpus, story, NO_EDGE, healing=True) for story in corpus.stories[::SOME]]
    assert all(one.right for one in lived)
    assert sum(bool(one.missing) for one in lived) > len(lived) / 2


@pytest.mark.parametrize("compiler", CORPORA)
def test_the_whole_map_needs_no_healing(compiler: str) -> None:
    corpus = CORPORA[compiler]
    reactions = corpus.loaded.reactions
    assert all(live(corpus, story, reactions, healing=False).right for story in corpus.stories[::SOME])


def test_the_page_of_the_rules_lists_the_redundant_edges_with_their_reasons() -> None:
    assert PAGE.read_text() == page_with(table()), "run python -m tests.mutation.listed"


def test_each_redundant_edge_is_one_of_a_map() -> None:
    of_maps: set[Edge] = set()
    for found in CORPORA.values():
        of_maps |= edges(found.loaded.reactions).keys()
    assert set(redundant()) <= of_maps, "take out of redundant.yml what no map has"
