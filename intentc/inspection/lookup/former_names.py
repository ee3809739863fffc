"""Splits the joined names of deleted resources into elements, from the journal in memory.

Why it exists: people type names joined by ``:``, and an element may contain a colon. Existing and claimed objects have
their elements in the cache and the book; for deleted ones only the journal has them.

It reads the journal, in slices, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from intentc.engine.slices import Slice, blocks
from intentc.journal import Journal, Line, Write
from intentc.model import Name


async def former_names(journal: Journal, kind: str, joined: Collection[str]) -> dict[str, Name]:
    """Return joined name → name, from the last journal line about an object of ``kind`` with that name. Without a line
    each colon separates two elements."""
    work = Slice()
    found: dict[str, Name] = {}
    for block in blocks(tuple(journal)[::-1]):
        for name in _objects(block):
            if name.kind == kind and (called := ":".join(name.fq_name)) in joined:
                found.setdefault(called, name)
        if len(found) == len(joined):
            break
        await work.rest()
    return {called: found.get(called) or Name(kind, tuple(called.split(":"))) for called in joined}


def _objects(lines: Iterable[Line]) -> Iterator[Name]:
    for line in lines:
        if isinstance(line, Write):
            yield line.name
        else:
            yield from line.objects
