"""From intents to those whose facts they read, over any number of facts.

Why it exists: what an object should be may be settled by an intent that never claims it. Whoever asks why an object is
wrong, or whether it can be judged at all, has to look at those, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.logic import Service
from intentc.model import Key
from intentc.model.reads import fact_read, presence_read

_FACTS = frozenset({fact_read("", "")[0], presence_read("", "")[0]})


def upstream(logic: Service, intents: Iterable[Key]) -> frozenset[Key]:
    """Everyone who contributes to a fact that one of ``intents`` read last time, or that one of those read, and so on;
    ``intents`` themselves only as far as they contribute to each other."""
    found: set[Key] = set()
    waiting = list(intents)
    while waiting:
        for read in logic.reads.reads_of(waiting.pop()):
            if read[0] in _FACTS:
                news = {contributor for contributor, _ in logic.contributions(read[1], read[2])} - found
                found |= news
                waiting.extend(news)
    return frozenset(found)
