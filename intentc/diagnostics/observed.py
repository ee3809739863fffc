"""What the diagnostics need to know of whatever they show: four questions, and results to look through if it has some.

Why it exists: the page must not know the engine, and its tests must not need one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


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
        ``loop_lag_seconds``, ``watch`` {``missed_events``: number}, ``audit`` {``runs``, ``mismatches``,
        ``last_success``}. What is missing is left out."""
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
