"""Each edge of the shipped map is needed, or known not to be: taken out, an outcome is wrong, or healing names it.

``python -m tests.mutation`` tries every story with every map and prints the table; here an edge is tried with the
stories about those who are read along it.
"""

from __future__ import annotations

import functools

import pytest

from tests.mutation import corpus, gateway_corpus
from tests.mutation.edges import Edge, Pair, edges, followed, only, served, without
from tests.mutation.killing import Lived, killer, killers, live
from tests.mutation.listed import PAGE, page_with, redundant, table
from tests.mutation.stories import Corpus

CORPORA = {"contrail": corpus.CORPUS, "ambassador": gateway_corpus.CORPUS}
MAPS = {compiler: corpus.loaded.reactions for compiler, corpus in CORPORA.items()}
LISTED = redundant()
NEEDED = {compiler: [edge for edge in edges(found) if edge not in LISTED] for compiler, found in MAPS.items()}
OF_NEEDED = [(compiler, edge) for compiler, found in NEEDED.items() for edge in found]
OF_LISTED = [(compiler, edge) for compiler, found in MAPS.items() for edge in edges(found) if edge in LISTED]


ENOUGH = {compiler: only(found, NEEDED[compiler]) for compiler, found in MAPS.items()}
"""The maps without what is listed."""


@functools.cache
def whole(compiler: str) -> list[Lived]:
    """Every story under the whole map, with nothing to heal it."""
    corpus = CORPORA[compiler]
    return [live(corpus, story, MAPS[compiler], healing=False, beside=ENOUGH[compiler]) for story in corpus.stories]


@functools.cache
def reads_of(compiler: str) -> frozenset[Pair]:
    """Which kind reads which in any of the stories."""
    return frozenset().union(*(found.reads for found in whole(compiler)))


@pytest.mark.parametrize("compiler", CORPORA)
def test_the_whole_map_needs_no_healing(compiler: str) -> None:
    assert all(found.right for found in whole(compiler))


@pytest.mark.parametrize(("compiler", "edge"), OF_NEEDED, ids=str)
def test_without_the_edge_an_outcome_is_wrong_and_healing_names_the_reaction(compiler: str, edge: Edge) -> None:
    mutant, along = without(MAPS[compiler], edge), served(MAPS[compiler], edge) & reads_of(compiler)
    corpus: Corpus = CORPORA[compiler]
    uncovered = along - followed(only(MAPS[compiler], set(NEEDED[compiler]) - {edge}))
    named: set[Pair] = set()
    to_name: set[Pair] = set()
    for story in killers(corpus, mutant, {pair.read for pair in along}, whole(compiler)):
        healed = live(corpus, story, mutant, healing=True)
        assert healed.right
        # Other edges may lead to the same kinds, for other neighbours, and what goes takes with it what refers to it:
        # then one of the edge's pairs is named all the same.
        assert along & healed.missing
        named |= healed.missing
        to_name = to_name or {pair for pair in uncovered if pair.read == story.kind}
        # A story may be about an object that not all of the edge's readers read; then another one names the rest.
        if to_name <= named:
            return
    assert named, f"nothing needs {edge}: list it in redundant.yml, with the reason"
    assert to_name <= named


@pytest.mark.parametrize("compiler", sorted({compiler for compiler, _ in OF_LISTED}))
def test_the_edges_that_are_needed_are_enough(compiler: str) -> None:
    assert killer(CORPORA[compiler], ENOUGH[compiler], whole=whole(compiler)) is None


@pytest.mark.parametrize("compiler", CORPORA)
def test_walks_by_a_map_that_lacks_a_needed_edge_miss_an_intent(compiler: str) -> None:
    """Otherwise the test before would find every map sufficient."""
    corpus, edge = CORPORA[compiler], NEEDED[compiler][0]
    mutant = without(MAPS[compiler], edge)
    about = {pair.read for pair in served(MAPS[compiler], edge) & reads_of(compiler)}
    story = killer(corpus, mutant, about, whole(compiler))
    assert story is not None
    assert live(corpus, story, MAPS[compiler], healing=False, beside=mutant).missed


def test_the_page_of_the_rules_lists_the_redundant_edges_with_their_reasons() -> None:
    assert PAGE.read_text() == page_with(table()), "run python -m tests.mutation.listed"


def test_each_redundant_edge_is_one_of_a_map() -> None:
    assert {edge for _, edge in OF_LISTED} == set(LISTED), "take out of redundant.yml what no map has"


@pytest.mark.parametrize(("compiler", "edge"), OF_LISTED, ids=str)
def test_the_reason_why_an_edge_is_redundant_is_true(compiler: str, edge: Edge) -> None:
    along, reads = served(MAPS[compiler], edge), reads_of(compiler)
    match LISTED[edge].proof:
        case "unreached":
            assert along == frozenset()
        case "unread":
            assert along and not along & reads
        case "covered":
            assert along & reads and along & reads <= followed(ENOUGH[compiler])
        case _:
            pytest.fail(f"no proof is called {LISTED[edge].proof}")
