"""Shows the sources of an output in the answer to "why": owners, parts with their reasons, and what was read.

If more than 200 intents claim the object, only 200 are evaluated for their reasons, in slices.

It reads the engine; the parts are collected in ``part_sources.Merging``. The evaluations leave outputs as they are, and
are remembered and guarded as ``why`` says.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.engine.live import Live
from intentc.engine.slices import Slice
from intentc.logic import LiveWorld
from intentc.model import Key, Name, ResourceClaim
from intentc.planning import Planner

from ..naming import Document, of_key, of_source, with_revision
from .contents import Contents
from .part_sources import Because, Merging, each_read, stored_behind

_MOST_PARTS = 1000
_EVALUATED = 200
"""Most intents that are evaluated for their reasons; further ones have the default reasons."""
_REASONS = 20
_SOURCES = 50
_READS = 100


async def reasons_of_parts(live: Live, name: Name, origins: Iterable[Key]) -> dict[str, tuple[Because, ...]]:
    """Return part → its reasons."""
    merging, work = Merging(live, name), Slice()
    for number, origin in enumerate(origins):
        for _ in merging.adding(origin, evaluate=number < _EVALUATED):
            await work.rest()
        await work.rest()
    return merging.result()


async def parts_shown(
    world: LiveWorld,
    part_reasons: dict[str, tuple[Because, ...]],
    contents: Contents,
    text: str,
    offset: int,
    limit: int,
) -> Document:
    """Return ``{"parts", "parts_total"}``: of the parts with ``text`` in their name or value, ``limit`` from ``offset``
    on."""
    work, wanted = Slice(), list[tuple[str, tuple[Because, ...]]]()
    for part, reasons in part_reasons.items():
        if text in part or text in contents.text(part):
            wanted.append((part, reasons))
        await work.rest()
    shown = []
    for part, reasons in wanted[offset : offset + min(limit, _MOST_PARTS)]:
        shown.append(
            {
                "part": part,
                "claim": contents.claim(part),
                "value": contents.short(part),
                "reasons": [
                    {
                        "intent": of_key(world, reason.intent),
                        "sources": [of_source(world, source) for source in reason.sources[:_SOURCES]],
                    }
                    for reason in reasons[:_REASONS]
                ],
                "reasons_total": len(reasons),
            }
        )
    return {"parts": shown, "parts_total": len(wanted)}


def owners_of(world: LiveWorld, planner: Planner, name: Name, origins: Iterable[Key]) -> tuple[Key, ...]:
    """Return the stored resources behind the existence of an object."""
    if not world.schema.kinds[name.kind].stored:
        return stored_behind(world, [Key(name.kind, name.fq_name[0])])
    claims = planner.book.on(name)
    making = [o for o in origins if not claims or any(isinstance(claim, ResourceClaim) for claim in claims.get(o, ()))]
    return stored_behind(world, making)


async def reads_shown(world: LiveWorld, intents: list[Key]) -> Document:
    """Return ``{"reads", "reads_total"}``."""
    work, found = Slice(), set[Key]()
    for keys in each_read(world, intents):
        found.update(keys)
        await work.rest()
    shown = [with_revision(world, key) for key in sorted(found)[:_READS]]
    return {"reads": shown, "reads_total": len(found)}
