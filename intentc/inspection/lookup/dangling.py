"""Who names a resource that is not there: references and mentions that lead nowhere, found by what they want.

A look-up in the ways back that the graph keeps, so that it costs the same in a world of any size.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.engine.slices import Slice, blocks
from intentc.logic import Service
from intentc.model import Key, Name
from intentc.model.resolvers import FQ_NAME, UUID

from ..naming import Document, of_key

_SHOWN = 100
_TOLD = 3


class InVain(NamedTuple):
    """``shown``: the first of them as ``{"kind", "name", "uuid", "relation"}``; ``total``: how many there are;
    ``sentence``: the same for people, empty if nobody names it."""

    shown: list[Document]
    total: int
    sentence: str


async def wanted_so(logic: Service, kind: str, text: str) -> list[str]:
    """``text``, if somebody refers to a resource of ``kind`` by it; else the joined names by which somebody does and
    that end with it."""
    work, ending = Slice(), f":{text}"
    found: set[str] = set()
    for block in blocks(logic.cache.graph.wanted()):
        names = (value for _, _, to, by, value in block if to == kind and by == FQ_NAME)
        found.update(name for name in names if name == text or name.endswith(ending))
        await work.rest()
    return [text] if text in found else sorted(found)


def named_in_vain(logic: Service, name: Name) -> InVain:
    """Those that name ``name``, which is not there, by its fq_name, or by the uuid that stands in its place."""
    graph, joined = logic.cache.graph, ":".join(name.fq_name)
    found = {
        (key, way.relation)
        for way in graph.incoming.get(name.kind, ())
        if way.by in (UUID, FQ_NAME)
        for key in graph.sources_by(way, Key(name.kind, ""), joined)
    }
    shown = [{**of_key(logic, key), "relation": relation} for key, relation in sorted(found)[:_SHOWN]]
    told = list(dict.fromkeys(f"{each['kind']} {each['name']}" for each in shown))
    count = len({key for key, _ in found})
    more = f" and {count - _TOLD} more" if count > _TOLD else ""
    sentence = f"{', '.join(told[:_TOLD])}{more} {'name' if count > 1 else 'names'} it in vain." if found else ""
    return InVain(shown, len(found), sentence)
