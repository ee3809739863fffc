"""Traverses the world for answers: in slices of a few milliseconds, and along facts and other relations.

asyncio switches tasks only where one waits, so long work divides itself into slices (docs/engine.md §1.7).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from intentc.logic import LiveWorld
from intentc.model import Key
from intentc.model.reads import fact_read, presence_read

_LENGTH = 0.004
"""Seconds."""
_BLOCK = 500

FACT = fact_read("", "")[0]
FACTS = frozenset({FACT, presence_read("", "")[0]})
"""The first elements of the reads of facts."""

T = TypeVar("T")
Node = TypeVar("Node", bound=Hashable)


async def sliced(items: Iterable[T], block: int = 0) -> AsyncGenerator[T, None]:
    """Yield ``items``, and let other tasks run whenever a slice is over. ``block``: items between two looks at the
    clock; choose 1 for items that take long. Wrap it in ``contextlib.aclosing`` if you leave the loop early."""
    clock = asyncio.get_running_loop().time
    ends, left = 0.0, block or _BLOCK
    for item in items:
        yield item
        left -= 1
        if not left:
            left = block or _BLOCK
            if clock() >= ends:
                await asyncio.sleep(0)
                ends = clock() + _LENGTH


def reached(start: Iterable[Node], further: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield ``start`` and everything to which ``further`` leads from there, each once, depth first."""
    waiting = list(start)[::-1]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            yield node
            waiting += [*further(node)][::-1]


def contributors_read(world: LiveWorld, intent: Key, *, sorts: frozenset[str] = FACTS) -> set[Key]:
    """Return the contributors to the facts that an intent has read; ``sorts``: by which reads."""
    reads = (read for read in world.reads.reads_of(intent) if read[0] in sorts)
    return {contributor for read in reads for contributor, _ in world.contributions(read[1], read[2])}


def with_contributors(world: LiveWorld, intents: Iterable[Key]) -> Iterator[Key]:
    """Yield ``intents`` and the contributors to the facts that they read, through any number of facts."""
    return reached(intents, partial(contributors_read, world))
