"""Where the elements of a former name ended, as the journal in memory holds it.

Why it exists: a name that people type is joined by ``:``, which an element may hold itself. Where its elements end is
known of what is there and of what is claimed; of what is gone only the journal's lines tell it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from intentc.engine.parts import Parts
from intentc.engine.slices import Slice, blocks
from intentc.journal import Line, Write
from intentc.model import Name


async def recalled(parts: Parts, kind: str, joined: Collection[str]) -> dict[str, Name]:
    """``joined`` → the name of the object of ``kind`` that was called so when the last line about it was kept; of one
    without a line a name in which an element ends at each colon."""
    work = Slice()
    found: dict[str, Name] = {}
    for block in blocks(tuple(parts.journal)[::-1]):
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
