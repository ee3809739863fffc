"""What stands at each part of an object, in a short text: a part's path alone says little to who asks about port 5432.

As the object should be, else as it is; secrets are concealed before anything is looked up, so they can't be found by a
search either. How a part is found in a document is ``diagnostics.places``'.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio.to_thread

from intentc.diagnostics.places import value_at
from intentc.engine.parts import Parts
from intentc.inspection.outputs import shown
from intentc.inspection.secrets import read_for, secrets_in
from intentc.model import HeldInput, Key, Name
from intentc.model.sensitive import cleared_resource, concealed
from intentc.planning.merge import merge

from ..views.comparison import claimed_document

MOST_SIGNS = 1000
"""Of one text as an answer shows it."""
_CUT = "…"


class Contents:
    """``documents``: ``{"desired": object or None, "actual": object or None}``, concealed."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents

    def text(self, part: str) -> str:
        """The whole content of a part as JSON on one line; empty if there is none, or its name says it already."""
        return value_at(self._documents, part)

    def short(self, part: str) -> str:
        """The same, cut."""
        text = self.text(part)
        return text if len(text) <= MOST_SIGNS else text[:MOST_SIGNS] + _CUT


async def contents_of(parts: Parts, name: Name, key: Key | None) -> Contents:
    """Of the object ``name``, which is ``key`` if it is there; nothing of a fact."""
    declared = parts.schema.kinds[name.kind]
    if not declared.stored:
        return Contents({})
    desired = merge(declared, name, parts.book.on(name), parts.logic.name_of) if name in parts.book else None
    behind, resource = read_for(parts, name), None
    if key is not None:
        with suppress(HeldInput):
            resource = parts.logic.resource(key)

    def documents() -> dict[str, Any]:
        wanted = claimed_document(parts, declared, desired) if desired is not None else None
        there = shown(resource) if resource is not None else None
        secrets = secrets_in(behind)
        return {
            "desired": cleared_resource(secrets, concealed(declared, wanted)) if wanted is not None else None,
            "actual": cleared_resource(secrets, concealed(declared, there)) if there is not None else None,
        }

    # None of it ever changes; of some thousand rules it takes longer than the loop should be held.
    return Contents(await anyio.to_thread.run_sync(documents))
