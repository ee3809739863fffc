"""Passes each question about a running engine to the module that answers it.

Implements ``diagnostics.Asked``. All but ``reactions``, ``journal`` and ``follow`` share three turns, its only state.
No output changes; the engine remembers which evaluations for ``why`` failed. History may be read from the journal's
files, in a thread (``lookup/disk_thread``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio

from intentc.diagnostics.observed import JournalQuery, ObjectQuery
from intentc.engine.live import Live

from .details.comparison import one_object
from .details.journal import follow, journal
from .details.lists import pending, quarantine
from .details.neighbourhood import neighbourhood
from .details.objects import objects
from .details.reactions import reactions
from .why.why import why

_AT_ONCE = 3
"""Answers in progress at once. A look at the whole world, and an evaluation that explains, hold the loop in slices."""


class Answers:
    """``diagnostics.Asked`` over one engine."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._turns = anyio.Semaphore(_AT_ONCE)

    async def why(self, kind: str, name: str, part: str = "", offset: int = 0, limit: int = 100) -> dict[str, Any]:
        async with self._turns:
            return await why(self._live, kind, name, part=part, offset=offset, limit=limit)

    async def objects(self, query: ObjectQuery) -> dict[str, Any]:
        async with self._turns:
            return await objects(self._live, query)

    async def object(self, kind: str, name: str) -> dict[str, Any]:
        async with self._turns:
            return await one_object(self._live, kind, name)

    async def neighbourhood(self, kind: str, name: str, depth: int = 1, kinds: tuple[str, ...] = ()) -> dict[str, Any]:
        async with self._turns:
            return await neighbourhood(self._live, kind, name, depth=depth, kinds=kinds)

    async def pending(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        async with self._turns:
            return await pending(self._live.world, offset, limit)

    async def quarantine(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        async with self._turns:
            return await quarantine(self._live, offset, limit)

    async def reactions(self) -> dict[str, Any]:
        return await reactions(self._live)

    async def journal(self, query: JournalQuery) -> dict[str, Any]:
        return await journal(self._live, query)

    def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        return follow(self._live, after)
