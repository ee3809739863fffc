"""Shows what is claimed of each part of an object, and its value as a short text, since a path alone says little.

The value is the desired one, else the actual one. Secrets are concealed before any look-up, so that a search can't find
them either. ``model.comparison`` finds a part in a document.

It reads the engine and changes nothing; documents are made in a thread.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import anyio.to_thread

from intentc.inspection.documents import shown
from intentc.inspection.secrets import read_for, secrets_in
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Name
from intentc.model.comparison import text_at
from intentc.model.provenance import reference_part
from intentc.model.sensitive import cleared_resource, concealed
from intentc.planning import Planner
from intentc.planning.merge import NOTHING, merge

from ..details.comparison import claimed_document

MOST_SIGNS = 1000
"""Most characters of one text in an answer."""
_CUT = "…"


class Contents:
    """Looks up parts in ``documents``: ``{"desired": object or None, "actual": object or None}``, concealed. ``kept``:
    the parts that stay as they are; ``dropped``: those that must not be there."""

    def __init__(self, documents: Mapping[str, Any], kept: Collection[str] = (), dropped: Collection[str] = ()) -> None:
        self._documents = documents
        self._kept = kept
        self._dropped = dropped

    def claim(self, part: str) -> str:
        """Return what is claimed of a part: ``kept``, ``dropped``, or ``value``."""
        if part in self._kept:
            return "kept"
        return "dropped" if part in self._dropped else "value"

    def text(self, part: str) -> str:
        """Return the value of a part as JSON on one line; empty if there is none, or its name contains it."""
        return text_at(self._documents, part)

    def short(self, part: str) -> str:
        """Return the same, at most ``MOST_SIGNS`` characters."""
        text = self.text(part)
        return text if len(text) <= MOST_SIGNS else text[:MOST_SIGNS] + _CUT


async def contents_of(world: LiveWorld, planner: Planner, name: Name, key: Key | None) -> Contents:
    """Return the contents of the object ``name``, which is ``key`` if it exists; none for a fact."""
    declared = world.schema.kinds[name.kind]
    if not declared.stored:
        return Contents({})
    desired = merge(declared, name, planner.book.on(name), world.name_of) if name in planner.book else None
    behind, resource = read_for(world, planner, name), None
    if key is not None:
        with suppress(HeldInput):
            resource = world.resource(key)

    def documents() -> dict[str, Any]:
        wanted = claimed_document(declared, desired) if desired is not None else None
        there = shown(resource) if resource is not None else None
        secrets = secrets_in(behind)
        return {
            "desired": cleared_resource(secrets, concealed(declared, wanted)) if wanted is not None else None,
            "actual": cleared_resource(secrets, concealed(declared, there)) if there is not None else None,
        }

    claimed = desired or NOTHING
    # All of it is frozen; for some thousand rules this takes longer than the loop may be held.
    return Contents(
        await anyio.to_thread.run_sync(documents),
        kept={f"{relation}_refs" for relation in claimed.kept},
        dropped={reference_part(*item) for item in claimed.unwanted if not isinstance(item, str)},
    )
