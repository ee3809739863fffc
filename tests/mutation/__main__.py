"""``python -m tests.mutation``: the whole search, every story with every mutant, and the table of what came of it.

Exit code 1 if an edge is neither needed nor listed, or listed and needed.
"""

from __future__ import annotations

import logging
import sys

from tests.mutation import corpus, gateway_corpus
from tests.mutation.edges import edges, only, without
from tests.mutation.killing import killer, live
from tests.mutation.listed import redundant
from tests.mutation.stories import Corpus


def main() -> int:
    logging.disable(logging.CRITICAL)
    return max([_search(corpus.CORPUS), _search(gateway_corpus.CORPUS)])


def _search(corpus: Corpus) -> int:
    reactions = corpus.loaded.reactions
    listed, found = redundant(), edges(reactions)
    killed = wrong = 0
    for edge in found:
        mutant = without(reactions, edge)
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


if __name__ == "__main__":
    sys.exit(main())
