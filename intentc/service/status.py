"""Computes the part of ``/status`` that people read first: health, role, lag, rates, pending work, and the first load.

It is read every second, so it uses only values that exist anyway: samples that it takes each second, and references
that are counted in the background. It words what etcd, the leadership or a reload lacks; ``inspection/pending_work``
words what the engine waits for, and ``inspection/status_tables`` reports its tables and counters.

State: the last samples, what evaluation waits for, whether the first load is done, and what was logged of an observer.
It reads the engine, and notes the last written revision in the watch's progress.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import anyio

from ..engine.engine import Engine
from ..engine.permission import OBSERVING, RESTORED, STANDING_BY
from ..inspection.pending_references import PendingReferences
from ..inspection.pending_work import at, attention, away_since, counted, unreachable_server, work_left
from ..inspection.status_tables import Rates, is_healthy
from ..watch.source import Source
from ..watch.watch_state import Phase

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
_A_MOMENT = "another look at work that was deferred for a moment"


class Leadership(NamedTuple):
    """Who leads, as this process sees it. ``hindered``: why it leads and doesn't write; empty if nothing prevents it.
    ``unanswered_since``: since when (seconds since 1970) etcd has not answered, if that lost us the leadership."""

    leads: bool
    leader: str | None
    hindered: str
    unanswered_since: float | None = None


class CompilerStatus:
    """The status of ``engine`` over ``source``. ``lacking``: what evaluation still waits for, set by the service."""

    def __init__(self, engine: Engine, source: Source) -> None:
        self._engine = engine
        self._live = engine
        self._source = source
        self._rates = Rates()
        self._pending = PendingReferences(engine.world, lambda: engine.quiet)
        self._loaded = False
        self._observed = -1
        self.lacking = ""

    async def run(self) -> None:
        """Sample the engine every second, until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._pending.run)
            while True:
                self.look()
                await asyncio.sleep(_PERIOD)

    def look(self) -> None:
        """Take a sample of the engine."""
        engine = self._engine
        converged = engine.converged
        self._loaded = self._loaded or engine.quiet
        if OBSERVING in engine.withheld and engine.quiet and self._observed != len(self._live.states.planned):
            self._observed = len(self._live.states.planned)
            _LOG.info("observing: %s would be written: `intentc show planned`", counted(self._observed, "object"))
        self._rates.look(
            evaluations=self._live.progress.evaluations,
            writes=engine.writes,
            reachable=self._live.progress.reachable,
            converged=converged,
        )

    def status(self, leadership: Leadership | None) -> dict[str, Any]:
        """Return the values for ``/status``. ``leadership``: None without an election.

        They are ``converged`` and ``healthy`` (None: unknown, since etcd or the API server does not answer),
        ``unknown_since`` (since when, seconds since 1970), ``role``, ``lag_revisions``, ``rates``,
        ``pending_references``, ``busy_seconds`` (since it last converged), ``oldest_job_seconds``, ``pending_work``
        (empty if it has converged and sees etcd), ``attention`` (what a person must do), ``progress`` (of the first
        load, None after it).
        """
        engine, progress = self._engine, self._source.progress
        converged = engine.converged
        self._loaded = self._loaded or engine.quiet
        # The revision of an acknowledged write counts as seen, although the watch may not have delivered it.
        progress.saw(self._live.progress.last_written_revision)
        unknown_since = self._unknown_since(leadership)
        known = unknown_since is None
        healthy = is_healthy(self._live) and not self._source.state.rejection
        return {
            # What is wrong even by what is known is wrong; the rest is unknown while nobody answers.
            "converged": (True if known else None) if converged else False,
            "healthy": (True if known else None) if healthy else False,
            "unknown_since": unknown_since,
            "role": self._role(leadership),
            "lag_revisions": progress.lag if self._sees_etcd(leadership) else None,
            "rates": self._rates.rates(),
            "pending_references": self._pending.now(),
            "busy_seconds": 0.0 if converged else round(self._rates.busy_seconds, 1),
            "oldest_job_seconds": round(self._live.progress.oldest_job_seconds, 1),
            "pending_work": [
                *self._of_etcd(leadership),
                *self._of_the_engine(leadership, converged=converged),
            ],
            "attention": [
                *self._of_the_reload(),
                *attention(self._live, self._pending.count, self._pending.still()),
            ],
            "progress": self.progress(),
        }

    @property
    def away_since(self) -> str:
        """Since when the API server can't be reached, for people: `` since 20:49:49 UTC``, or empty."""
        return away_since(self._rates)

    def _role(self, leadership: Leadership | None) -> str:
        if OBSERVING in self._engine.withheld:
            return "observer"
        if leadership is None:
            return "alone"
        return "leader" if leadership.leads else "standby"

    def _of_the_engine(self, leadership: Leadership | None, *, converged: bool) -> Sequence[str]:
        """Return what the engine waits for before it has converged, the most important first. Afterwards it waits for
        the API server only, if that does not answer."""
        if not converged:
            return list(self._left(leadership)) or [_A_MOMENT]
        return [] if self._live.progress.reachable else [unreachable_server(self._rates)]

    def _left(self, leadership: Leadership | None) -> Iterator[str]:
        reasons = self._engine.withheld
        if RESTORED in reasons:
            yield "an audit, since etcd was restored from an older state: nothing is written before"
        if leadership is not None and leadership.hindered:
            yield f"permission to write: {leadership.hindered}"
        elif leadership is not None and not leadership.leads and STANDING_BY in reasons:
            yield f"{leadership.leader}, which leads" if leadership.leader else "a leader"
        yield from work_left(self._live, self._rates)

    def _sees_etcd(self, leadership: Leadership | None) -> bool:
        """Return whether the known revision of etcd is current."""
        unanswered = leadership is not None and leadership.unanswered_since is not None
        return self._source.state.phase is not Phase.DISCONNECTED and not unanswered

    def _unknown_since(self, leadership: Leadership | None) -> float | None:
        """Return since when etcd or the API server has not answered, in seconds since 1970; None if both do."""
        state = self._source.state
        since = [
            state.since if state.phase is not Phase.WATCHING else self._source.silent_since,
            leadership.unanswered_since if leadership is not None else None,
            None if self._live.progress.reachable else self._rates.away_since or time.time(),
        ]
        return min((moment for moment in since if moment is not None), default=None)

    def _of_etcd(self, leadership: Leadership | None) -> Iterator[str]:
        """Yield what prevents it from knowing the present inputs: it may have converged for those that it knows."""
        if self.lacking:
            yield self.lacking
            return
        state, progress = self._source.state, self._source.progress
        because = f": {state.last_error}" if state.last_error else ""
        match state.phase:
            case Phase.DISCONNECTED:
                first = "" if progress.passed or because else ", not asked yet"
                yield f"etcd, no watch since {at(state.since)}{first}{because}"
            case Phase.LISTING:
                which = "the first list of etcd" if not self._engine.listed else "a new list of etcd"
                yield f"{which}: {progress.listed:,} of {progress.to_list:,} keys are read"
            case Phase.WATCHING if leadership is not None and leadership.unanswered_since is not None:
                # A silent watch counts as cut only after some heartbeats; the lease shows it earlier.
                yield f"an answer of etcd, none since {at(leadership.unanswered_since)}"
            case Phase.WATCHING if state.rejection:
                yield f"etcd to accept writes: {state.rejection}"

    def _of_the_reload(self) -> Iterator[str]:
        if (error := self._live.reloads.last_error) is not None:
            yield (
                f"reload rejected, the former configuration stays in force: {error}; fix it, see `intentc check`, "
                "and send SIGHUP"
            )

    def progress(self) -> dict[str, Any] | None:
        """Return the progress of the first load: ``phase`` (``connecting``, ``listing``, ``evaluating``, ``writing``,
        or ``planning`` if nothing may be written), ``done`` of ``total`` (None if unknown)."""
        if self._loaded:
            return None
        listing, progress = self._source.progress, self._live.progress
        if not self._engine.listed:
            if self.lacking or self._source.state.phase is not Phase.LISTING:
                return {"phase": "connecting", "done": 0, "total": None}
            return {"phase": "listing", "done": listing.listed, "total": listing.to_list or None}
        if not progress.first_pass_complete:
            evaluated = progress.evaluations + progress.idle_walks
            return {"phase": "evaluating", "done": evaluated, "total": evaluated + progress.jobs}
        left = progress.objects + progress.in_flight
        if progress.withheld:
            planned = len(self._live.states.planned)
            return {"phase": "planning", "done": planned, "total": planned + left} if left else None
        return {"phase": "writing", "done": progress.writes, "total": progress.writes + left}
