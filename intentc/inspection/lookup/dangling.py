"""Finds dangling references: those to a resource that does not exist.

``dangling_references`` uses the reverse index and is cheap in any world. ``referenced_names`` looks at every wanted
value, in slices.

It reads the engine, in slices, and changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.engine.slices import Slice, blocks
from intentc.logic import LiveWorld
from intentc.model import Name
from intentc.model.resolvers import FQ_NAME

from ..naming import Document, of_key

_SHOWN = 100
_NAMED = 3


class DanglingReferences(NamedTuple):
    """``shown``: the first references as ``{"kind", "name", "uuid", "relation"}``; ``total``: how many there are;
    ``sentence``: the same for people, empty if there is none."""

    shown: list[Document]
    total: int
    sentence: str


async def referenced_names(world: LiveWorld, kind: str, text: str) -> list[str]:
    """Return ``text`` if a reference names a resource of ``kind`` so; else the referenced joined names that end with
    it."""
    work, ending = Slice(), f":{text}"
    found: set[str] = set()
    for block in blocks(world.cache.graph.wanted()):
        names = (value for _, _, to, by, value in block if to == kind and by == FQ_NAME)
        found.update(name for name in names if name == text or name.endswith(ending))
        await work.rest()
    return [text] if text in found else sorted(found)


def dangling_references(world: LiveWorld, name: Name) -> DanglingReferences:
    """Return the references to ``name``, which does not exist, by its fq_name or by a uuid given as its name."""
    found = world.referring_to_name(name)
    shown = [{**of_key(world, key), "relation": relation} for key, relation in sorted(found)[:_SHOWN]]
    holders = list(dict.fromkeys(f"{each['kind']} {each['name']}" for each in shown))
    count = len({key for key, _ in found})
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    sentence = f"{', '.join(holders[:_NAMED])}{more} {'refer' if count > 1 else 'refers'} to it." if found else ""
    return DanglingReferences(shown, len(found), sentence)
