"""Answers the questions of the diagnostics about a running engine, and computes the views that compilers offer.

Why views are computed in a thread: a view is an author's pure function over objects, and reading thousands of objects
takes longer than the loop may be held. So the objects are gathered at one moment, which is quick, and read in a thread.
The thread asks the running engine which secrets were read for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import anyio
import anyio.to_thread

from intentc.diagnostics.questions import (
    Comparison,
    JournalQuery,
    Neighbourhood,
    ObjectQuery,
    Pending,
    Quarantine,
    Question,
    Reactions,
    Why,
)
from intentc.engine.live import Live
from intentc.evaluation import Compiled, Overview, Row
from intentc.evaluation.compiler import PLANNED, PROBLEMS
from intentc.inspection.compared import one_object
from intentc.inspection.journal_lines import follow, journal
from intentc.inspection.neighbourhood import neighbourhood
from intentc.inspection.object_search import objects
from intentc.inspection.pending_references import pending_page
from intentc.inspection.quarantined import quarantine
from intentc.inspection.reaction_map import reactions
from intentc.inspection.shown_resources import Gathered
from intentc.inspection.why import why
from intentc.model import verb, written_fields

_AT_ONCE = 3
"""Answers in progress at once. A look at the whole world, and an evaluation that explains, hold the loop in slices."""


class Reader:
    """``diagnostics.questions.Reader`` over one engine. ``views``: those of its compilers."""

    def __init__(self, live: Live, views: Mapping[str, Overview] | None = None) -> None:
        self._live = live
        problems = Overview(
            "what people must fix, listed on the resource that must change",
            (),
            ("kind", "name", "reason", "message"),
            lambda compiled: (problem.shown() for problem in compiled.problems),
        )
        planned = Overview(
            "what would be written if writes were permitted, as with --observe and on a standby",
            (),
            ("kind", "name", "write", "fields"),
            self._planned,
        )
        self._overviews: Mapping[str, Overview] = {PROBLEMS: problems, PLANNED: planned, **(views or {})}
        self._one_at_a_time = anyio.Lock()
        self._turns = anyio.Semaphore(_AT_ONCE)

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Name → ``{"description", "columns"}``."""
        return {
            name: {"description": overview.description, "columns": list(overview.columns)}
            for name, overview in self._overviews.items()
        }

    async def rows(self, view: str, wanted: Callable[[Row], bool]) -> list[Row]:
        """Return the ``wanted`` rows of ``view`` as of now, whether the engine has converged or not. ``wanted`` is
        called in another thread. Raises ``KeyError`` if there is no such view."""
        overview = self._overviews[view]
        async with self._one_at_a_time:
            gathered = Gathered(self._live, overview.kinds)
            return await anyio.to_thread.run_sync(lambda: [row for row in overview.rows(gathered) if wanted(row)])

    def _planned(self, compiled: Compiled) -> Iterable[Row]:
        """Yield the writes that wait for permission; their values are in ``/object``."""
        # In another thread: the table may change meanwhile.
        for name, operations in sorted(dict(self._live.states.planned).items()):
            for operation in operations:
                yield {
                    "kind": name.kind,
                    "name": ":".join(name.fq_name),
                    "write": verb(operation),
                    "fields": list(written_fields(operation)),
                }

    async def ask(self, question: Question) -> dict[str, Any]:
        """Answer a question. Raises ``Unanswerable``."""
        live = self._live
        match question:
            case Reactions():
                return await reactions(live)
            case JournalQuery():
                return await journal(live, question)
        async with self._turns:
            match question:
                case Why(kind, name, part, offset, limit):
                    return await why(live, kind, name, part=part, offset=offset, limit=limit)
                case ObjectQuery():
                    return await objects(live, question)
                case Comparison(kind, name):
                    return await one_object(live, kind, name)
                case Neighbourhood(kind, name, depth, kinds):
                    return await neighbourhood(live, kind, name, depth=depth, kinds=kinds)
                case Pending(offset, limit):
                    return await pending_page(live.world, offset, limit)
                case Quarantine(offset, limit):
                    return await quarantine(live, offset, limit)

    def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """Yield the journal's lines after this sequence, then each new line. Raises ``Unanswerable``."""
        return follow(self._live, after)
