"""Follows intents back to the contributors of the facts that they read, through any number of facts.

Why it exists: the desired state of an object may depend on an intent that never claims it. To find why an object
differs, or whether it can be judged at all, an audit must look at those intents as well.

It reads a compiled world and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.logic import LiveWorld
from intentc.model import Key
from intentc.model.reads import fact_read, presence_read

_FACTS = frozenset({fact_read("", "")[0], presence_read("", "")[0]})


def upstream(world: LiveWorld, intents: Iterable[Key]) -> frozenset[Key]:
    """Return the contributors to each fact that ``intents`` read in their last evaluation, and recursively theirs.
    ``intents`` themselves are included only if they contribute to each other."""
    found: set[Key] = set()
    waiting = list(intents)
    while waiting:
        for read in world.reads.reads_of(waiting.pop()):
            if read[0] in _FACTS:
                news = {contributor for contributor, _ in world.contributions(read[1], read[2])} - found
                found |= news
                waiting.extend(news)
    return frozenset(found)
