"""Computes ``/status`` and readiness: what people read first, the engine's tables, and the figures of each part.

It is read every second, so it uses only values that exist anyway: samples that it takes each second, and references
that are counted in the background. It words what etcd, the leadership or a reload lacks; ``inspection/pending_work``
words what the engine waits for, and ``inspection/status_tables`` reports its tables and counters.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import anyio

from ..directives import DirectiveWatch
from ..engine.engine import Engine
from ..engine.permission import OBSERVING, RESTORED, STANDING_BY, UPGRADE
from ..inspection.pending_references import PendingReferences
from ..inspection.pending_work import at, attention, away_since, counted, unreachable_server, work_left
from ..inspection.status_tables import Rates, is_healthy, report
from ..journal.keeping import Keeping
from ..watch.source import Source
from ..watch.watch_state import Phase
from ..writing.connection import Capabilities
from .audits import PeriodicAudit
from .takeover import TakeOver

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
_LAG_PERIOD = 0.1
_LAG_FADING = 0.995
"""Factor by which a peak of the loop's lag decays each period: half of it remains after 14 seconds."""
_A_MOMENT = "another look at work that was deferred for a moment"


class Parts(NamedTuple):
    """The parts of a service that report in ``/status``; None for one that it lacks. ``server``: what the API server
    can do. ``certificates``: file → when its certificates expire, in seconds since 1970."""

    directives: DirectiveWatch
    takeover: TakeOver | None = None
    auditing: PeriodicAudit | None = None
    keeping: Keeping | None = None
    server: Capabilities | None = None
    certificates: Callable[[], Mapping[str, float]] = dict


class Leadership(NamedTuple):
    """Who leads, as this process sees it. ``hindered``: why it leads and doesn't write; empty if nothing prevents it.
    ``unanswered_since``: since when (seconds since 1970) etcd has not answered, if that lost us the leadership."""

    leads: bool
    leader: str | None
    hindered: str
    unanswered_since: float | None = None


class CompilerStatus:
    """The status of ``engine`` over ``source``, and of the ``parts`` around them."""

    def __init__(self, engine: Engine, source: Source, parts: Parts) -> None:
        self._engine = engine
        self._source = source
        self._parts = parts
        self._rates = Rates()
        self._pending = PendingReferences(engine.world, lambda: engine.quiet)
        self._loaded = False
        self._observed = -1
        self._lag = 0.0
        self._lacking = ""

    def lacks(self, why: str) -> None:
        """Note what evaluation still waits for; empty for nothing."""
        self._lacking = why

    async def sample(self) -> None:
        """Look at the engine every second, until cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._pending.run)
            group.start_soon(self._measure_lag)
            while True:
                self.look()
                await asyncio.sleep(_PERIOD)

    async def _measure_lag(self) -> None:
        """Measure how late the loop's timers run, which shows a stage that holds the loop."""
        turn = asyncio.get_running_loop().time
        while True:
            due = turn() + _LAG_PERIOD
            await asyncio.sleep(_LAG_PERIOD)
            late = max(0.0, turn() - due)
            # A peak decays slowly, so that a scrape every 15 seconds sees it.
            self._lag = max(late, self._lag * _LAG_FADING)

    def look(self) -> None:
        """Take a sample of the engine."""
        engine = self._engine
        converged = engine.converged
        self._loaded = self._loaded or engine.quiet
        planned = len(engine.states.planned)
        if OBSERVING in engine.permission.withheld_for and engine.quiet and self._observed != planned:
            self._observed = planned
            _LOG.info("observing: %s would be written: `intentc show planned`", counted(self._observed, "object"))
        self._rates.look(
            evaluations=self._engine.evaluator.runs,
            writes=engine.sender.written,
            reachable=self._engine.throttle.reachable,
            converged=converged,
        )

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Return whether everything is evaluated and etcd, the API server and the leadership are as needed; and the
        reasons if not."""
        state, leadership, withheld = self._source.state, self._leadership(), self._engine.permission.withheld_for
        reasons = []
        if not state.ready:
            because = f" ({state.last_error})" if state.last_error else ""
            reasons.append(f"etcd: {state.phase.value} since {at(state.since)}{because}")
        elif leadership is not None and leadership.unanswered_since is not None:
            reasons.append("etcd: no answer, so the leadership was lost")
        if not self._engine.first_pass_complete:
            reasons.append("the first pass is not complete")
        if not self._engine.throttle.reachable:
            reasons.append(f"the API server can't be reached{away_since(self._rates)}")
        if leadership is not None and leadership.hindered:
            reasons.append(leadership.hindered)
        reasons += [f"{reason}: {message}" for reason, message in withheld.items() if reason in {RESTORED, UPGRADE}]
        return not reasons, tuple(reasons)

    def status(self) -> dict[str, Any]:
        """Return the values for ``/status``."""
        engine, parts, state, counters = self._engine, self._parts, self._source.state, self._source.counters
        return {
            **report(engine, converged=engine.converged),
            **self.head(self._leadership()),
            "loop_lag_seconds": round(self._lag, 4),
            "watch": {
                "phase": state.phase.value,
                "since": state.since,
                "last_error": state.last_error,
                "lists": dict(counters.lists),
                "disconnects": dict(counters.disconnects),
                "missed_events": counters.missed_events,
                "duplicates": counters.duplicates,
                "restored": engine.restore_guard.times,
            },
            "directives": parts.directives.report(),
            "leading": parts.takeover.report() if parts.takeover is not None else None,
            "audit": parts.auditing.figures() if parts.auditing is not None else None,
            "journal": {
                "first": engine.journal.first,
                "last": engine.journal.last,
                "bytes": engine.journal.size_bytes,
                "files": parts.keeping.figures() if parts.keeping is not None else None,
            },
            "certificates": dict(parts.certificates()),
            "reload": engine.reloads.status(),
            "api_server": {
                "fences": parts.server.fences if parts.server is not None else None,
                "reachable": engine.throttle.reachable,
            },
        }

    def _leadership(self) -> Leadership | None:
        if (takeover := self._parts.takeover) is None:
            return None
        election = takeover.election
        return Leadership(
            election.fence() is not None, election.leader(), takeover.hindered, election.unanswered_since()
        )

    def head(self, leadership: Leadership | None) -> dict[str, Any]:
        """Return the values that people read first. ``leadership``: None without an election.

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
        progress.saw(self._engine.sender.last_revision)
        unknown_since = self._unknown_since(leadership)
        known = unknown_since is None
        healthy = is_healthy(self._engine) and not self._source.state.rejection
        return {
            # A known fault counts even while nobody answers; everything else is unknown then.
            "converged": (True if known else None) if converged else False,
            "healthy": (True if known else None) if healthy else False,
            "unknown_since": unknown_since,
            "role": self._role(leadership),
            "lag_revisions": progress.lag if self._sees_etcd(leadership) else None,
            "rates": self._rates.rates(),
            "pending_references": self._pending.now(),
            "busy_seconds": 0.0 if converged else round(self._rates.busy_seconds, 1),
            "oldest_job_seconds": round(self._engine.jobs.oldest_seconds(), 1),
            "pending_work": [
                *self._of_etcd(leadership),
                *self._of_the_engine(leadership, converged=converged),
            ],
            "attention": [
                *self._of_the_reload(),
                *attention(self._engine, self._pending.count, self._pending.still()),
            ],
            "progress": self.progress(),
        }

    def _role(self, leadership: Leadership | None) -> str:
        if OBSERVING in self._engine.permission.withheld_for:
            return "observer"
        if leadership is None:
            return "alone"
        return "leader" if leadership.leads else "standby"

    def _of_the_engine(self, leadership: Leadership | None, *, converged: bool) -> Sequence[str]:
        """Return what the engine waits for until it has converged, the most important first. Once it has, it waits only
        for an API server that does not answer."""
        if not converged:
            return list(self._left(leadership)) or [_A_MOMENT]
        return [] if self._engine.throttle.reachable else [unreachable_server(self._rates)]

    def _left(self, leadership: Leadership | None) -> Iterator[str]:
        reasons = self._engine.permission.withheld_for
        if RESTORED in reasons:
            yield "an audit, since etcd was restored from an older state: nothing is written before"
        if leadership is not None and leadership.hindered:
            yield f"permission to write: {leadership.hindered}"
        elif leadership is not None and not leadership.leads and STANDING_BY in reasons:
            yield f"{leadership.leader}, which leads" if leadership.leader else "a leader"
        yield from work_left(self._engine, self._rates)

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
            None if self._engine.throttle.reachable else self._rates.away_since or time.time(),
        ]
        return min((moment for moment in since if moment is not None), default=None)

    def _of_etcd(self, leadership: Leadership | None) -> Iterator[str]:
        """Yield what prevents the engine from knowing the present inputs; it may have converged for the known ones."""
        if self._lacking:
            yield self._lacking
            return
        state, progress = self._source.state, self._source.progress
        because = f": {state.last_error}" if state.last_error else ""
        match state.phase:
            case Phase.DISCONNECTED:
                first = "" if progress.passed or because else ", not asked yet"
                yield f"etcd, no watch since {at(state.since)}{first}{because}"
            case Phase.LISTING:
                which = "the first list of etcd" if not self._engine.world.listed else "a new list of etcd"
                yield f"{which}: {progress.listed:,} of {progress.to_list:,} keys are read"
            case Phase.WATCHING if leadership is not None and leadership.unanswered_since is not None:
                # A silent watch counts as cut only after some heartbeats; the lease shows it earlier.
                yield f"an answer of etcd, none since {at(leadership.unanswered_since)}"
            case Phase.WATCHING if state.rejection:
                yield f"etcd to accept writes: {state.rejection}"

    def _of_the_reload(self) -> Iterator[str]:
        if (error := self._engine.reloads.last_error) is not None:
            yield (
                f"reload rejected, the former configuration stays in force: {error}; fix it, see `intentc check`, "
                "and send SIGHUP"
            )

    def progress(self) -> dict[str, Any] | None:
        """Return the progress of the first load: ``phase`` (``connecting``, ``listing``, ``evaluating``, ``writing``,
        or ``planning`` if nothing may be written), ``done`` of ``total`` (None if unknown)."""
        if self._loaded:
            return None
        listing, engine = self._source.progress, self._engine
        if not self._engine.world.listed:
            if self._lacking or self._source.state.phase is not Phase.LISTING:
                return {"phase": "connecting", "done": 0, "total": None}
            return {"phase": "listing", "done": listing.listed, "total": listing.to_list or None}
        if not engine.first_pass_complete:
            evaluated = engine.evaluator.runs + engine.evaluator.idle_walks
            return {"phase": "evaluating", "done": evaluated, "total": evaluated + engine.jobs.pending()}
        left = engine.objects.pending() + engine.writes.loop.in_flight
        if engine.permission.withheld_for:
            planned = len(self._engine.states.planned)
            return {"phase": "planning", "done": planned, "total": planned + left} if left else None
        return {"phase": "writing", "done": engine.sender.written, "total": engine.sender.written + left}
