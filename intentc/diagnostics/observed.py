"""What the diagnostics need to know of whatever they show: four questions, results to look through if it has some, and
answers to "why" if it can give them.

Why it exists: the page must not know the engine, and its tests must not need one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from enum import Enum
from typing import Any, NamedTuple, Protocol


class Observed(Protocol):
    """Something that runs and can be asked."""

    def healthy(self) -> bool:
        """Whether the process does its work; if not, it should be started again."""
        ...

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Whether the first list was applied and the store is heard; the reasons if not."""
        ...

    def status(self) -> dict[str, Any]:
        """JSON values, as ``/status`` gives them. ``metrics`` and ``apply --wait`` read of it: ``converged``,
        ``healthy``, ``applied_revision``, ``queue`` {name: depth}, ``counts`` {name: number}, ``counters``
        {``evaluations``, ``idle_walks``, ``writes``, ``missing_reactions`` {pair: number}}, ``held`` [text],
        ``loop_lag_seconds``, ``watch`` {``missed_events``: number}, ``audit`` {``period``, ``runs``,
        ``mismatches``, ``last_success``, ``last_error``}, ``role`` (``leader``, ``standby``,
        ``alone``, ``observer``), ``lag_revisions``, ``rates`` {``evaluations``, ``writes``: a second},
        ``pending_references``, ``busy_seconds``, ``oldest_job_seconds``,
        ``awaiting`` [text: what time or a server must bring; none if converged and etcd is seen], ``attention`` [text:
        what a person must do], ``progress`` {``phase``, ``done``, ``total``} of the first load. What is missing is left
        out."""
        ...

    def pending(self) -> list[dict[str, str]]:
        """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each."""
        ...


class Browsed(Protocol):
    """Results to look through, as rows; no row holds a secret."""

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Name → ``{"description": text, "columns": [text]}``, as ``/views`` gives them."""
        ...

    async def rows(self, view: str, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """The rows of ``view`` that are ``wanted``, in their order: column → JSON value. ``wanted`` is called in any
        thread. Raises ``KeyError`` if there is no such view."""
        ...


class NamedAs(Enum):
    """What the candidates of an answer are: fq_names, kinds, or both (``KIND NAME``)."""

    NAMES = "names"
    KINDS = "kinds"
    KINDS_AND_NAMES = "kinds and names"


class Unanswerable(Exception):
    """A question that has no answer. ``status``: as in HTTP (400: a wrong question; 404: nothing of that name; 409:
    more than one). ``next_step``: what to do; ``candidates``: what may be meant: names of the kind that was asked for,
    or other ``NamedAs``."""

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
    """Which resources: of ``kind`` (empty: of any), with ``text`` in their name or as their uuid, in ``state`` (empty:
    any); of those ``limit`` from ``offset`` on."""

    kind: str = ""
    text: str = ""
    state: str = ""
    offset: int = 0
    limit: int = 50


class JournalQuery(NamedTuple):
    """Which lines: with a sequence after ``after``, at most ``limit``; of one object or intent (``kind``, ``name``), of
    one ``sort`` (``evaluation``, ``write``); empty: any. ``before``: the last ``limit`` before this sequence."""

    after: int = 0
    limit: int = 100
    kind: str = ""
    name: str = ""
    sort: str = ""
    before: int = 0


class Asked(Protocol):
    """Something that knows why things are as they are. All answers are JSON values without secrets; they are read-only
    and leave no trace. Names: an fq_name joined by ``:``, a uuid, or a unique end of an fq_name. Raises
    ``Unanswerable``."""

    async def why(self, kind: str, name: str, part: str = "", offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """Why an object is as it is, or is not there: ``docs/why.md`` has the keys. ``part``: only parts whose names
        hold this text; of those ``limit`` from ``offset`` on."""
        ...

    async def objects(self, query: ObjectQuery) -> dict[str, Any]:
        """``{"kinds": {kind: count}, "total", "offset", "rows": [{"kind", "name", "uuid", "revision", "role", "ours",
        "state", "problems"}]}``."""
        ...

    async def object(self, kind: str, name: str) -> dict[str, Any]:
        """``{"kind", "name", "uuid", "revision", "actual", "desired", "differences": [{"field", "actual",
        "desired"}]}``."""
        ...

    async def neighbourhood(self, kind: str, name: str, depth: int = 1, kinds: tuple[str, ...] = ()) -> dict[str, Any]:
        """``{"center", "nodes": [{"id", "kind", "name", "uuid", "role", "depth"}], "edges": [{"from", "to", "relation",
        "made"}], "cut"}``."""
        ...

    async def pending(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``."""
        ...

    async def quarantine(self, offset: int = 0, limit: int = 100) -> dict[str, Any]:
        """``{"total", "offset", "limit", "quarantine": [entry]}``: the entries of the status, and all others."""
        ...

    async def reactions(self) -> dict[str, Any]:
        """``{"kinds", "compiled", "edges", "findings", "missing", "loaded_at", "reloads", "last_error", "since"}``."""
        ...

    async def journal(self, query: JournalQuery) -> dict[str, Any]:
        """``{"first", "last", "more", "kind", "lines"}``: the lines, the oldest first; ``first`` and ``last``: the
        sequences kept; ``kind``: the one that was asked for, as it is spelt; ``more``: whether there
        are others beyond these, where somebody looked."""
        ...

    def follow(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """The lines after this sequence, and then each new one as it comes. One that is too slow misses some."""
        ...
