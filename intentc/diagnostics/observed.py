"""Defines the protocols through which the diagnostics read a compiler: its status, its views, and its answers.

Why it exists: the diagnostics must not depend on the engine, and their tests must not need one. A bridge is read so,
too, but has no views and no answers. The queries, and the error for a question without an answer, are defined here.

Declarations only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol


class Observed(Protocol):
    """A running process with a status."""

    def healthy(self) -> bool:
        """Return whether the process works; if not, it should be restarted."""
        ...

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Return whether the first list was applied and the store answers; and the reasons if not."""
        ...

    def status(self) -> dict[str, Any]:
        """Return the JSON values of ``/status``, among them: ``converged``,
        ``healthy``, ``applied_revision``, ``queue`` {name: depth}, ``counts`` {name: number}, ``counters``
        {``evaluations``, ``idle_walks``, ``writes``, ``missing_reactions`` {pair: number}}, ``held`` [text],
        ``loop_lag_seconds``, ``watch`` {``missed_events``: number}, ``audit`` {``period``, ``runs``,
        ``mismatches``, ``last_success``, ``last_error``}, ``role`` (``leader``, ``standby``,
        ``alone``, ``observer``), ``lag_revisions``, ``rates`` {``evaluations``, ``writes``: a second},
        ``pending_references``, ``busy_seconds``, ``oldest_job_seconds``,
        ``pending_work`` [text: what it waits for; empty if converged and etcd answers], ``attention`` [text: what a
        person must do], ``progress`` {``phase``, ``done``, ``total``} of the first load. Readers ignore missing
        keys."""
        ...

    def pending(self) -> list[dict[str, str]]:
        """Return the references whose target does not exist: ``{"holder", "relation", "target"}`` each."""
        ...


class Browsed(Protocol):
    """Views of the outputs as rows; no row contains a secret."""

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Name → ``{"description": text, "columns": [text]}``, as in ``/views``."""
        ...

    async def rows(self, view: str, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """Return the ``wanted`` rows of ``view`` in their order: column → JSON value. ``wanted`` is called in any
        thread. Raises ``KeyError`` if there is no such view."""
        ...


class NamedAs(Enum):
    """What the candidates of an answer are: fq_names, kinds, or both (``KIND NAME``)."""

    NAMES = "names"
    KINDS = "kinds"
    KINDS_AND_NAMES = "kinds and names"


class Unanswerable(Exception):
    """A question without an answer. ``status``: as in HTTP (400: a wrong question; 404: nothing of that name; 409:
    several). ``next_step``: what to do; ``candidates``: possible meanings: names of the requested kind, or other
    ``NamedAs``."""

    def __init__(
        self,
        status: int,
        error: str,
        next_step: str = "",
        candidates: tuple[str, ...] = (),
        named_as: NamedAs = NamedAs.NAMES,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.next_step = next_step
        self.candidates = candidates
        self.named_as = named_as


class ObjectQuery(NamedTuple):
    """Selects resources of ``kind`` (empty: any) with ``text`` in their name or uuid, in ``state`` (empty: any); of
    these, ``limit`` from ``offset`` on."""

    kind: str = ""
    text: str = ""
    state: str = ""
    offset: int = 0
    limit: int = 50


class JournalQuery(NamedTuple):
    """Selects at most ``limit`` lines after the sequence ``after``, about one object or intent (``kind``, ``name``), of
    one ``sort`` (``evaluation``, ``write``); empty: any. ``before``: the last ``limit`` lines before this sequence."""

    after: int = 0
    limit: int = 100
    kind: str = ""
    name: str = ""
    sort: str = ""
    before: int = 0


class Asked(Protocol):
    """Answers questions about a running compiler. All answers are JSON values without secrets and change nothing.
    Names: an fq_name joined by ``:``, a uuid, or a unique end of an fq_name. Raises ``Unanswerable``."""

    async def why(self, kind: str, name: str, part: str = "", offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """Explain why an object exists or doesn't; the keys are in ``docs/why.md``. ``part``: only parts with this text
        in their name or value; of those ``limit`` from ``offset`` on."""
        ...

    async def objects(self, query: ObjectQuery) -> dict[str, Any]:
        """Return ``{"kinds": {kind: count}, "total", "offset", "rows": [{"kind", "name", "uuid", "revision", "role",
        "ours", "state", "problems"}]}``."""
        ...

    async def object(self, kind: str, name: str) -> dict[str, Any]:
        """Return ``{"kind", "name", "uuid", "revision", "actual", "desired", "differences": [{"field", "actual",
        "desired"}], "differences_total"}``."""
        ...

    async def neighbourhood(self, kind: str, name: str, depth: int = 1, kinds: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return ``{"center", "nodes": [{"id", "kind", "name", "uuid", "role", "depth"}], "edges": [{"from", "to",
        "relation", "made"}], "cut"}``."""
        ...

    async def pending(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``."""
        ...

    async def quarantine(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """Return ``{"total", "offset", "limit", "quarantine": [entry]}``: a page of all entries."""
        ...

    async def reactions(self) -> dict[str, Any]:
        """Return ``{"kinds", "compiled", "edges", "findings", "missing", "loaded_at", "reloads", "last_error",
        "since"}``."""
        ...

    async def journal(self, query: JournalQuery) -> dict[str, Any]:
        """Return ``{"first", "last", "more", "kind", "lines"}``: the lines, the oldest first; ``first`` and ``last``:
        the kept sequences; ``kind``: the requested kind in its declared spelling; ``more``: whether further lines
        match."""
        ...

    def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """Yield the lines after this sequence, then each new line. A slow follower misses some."""
        ...
