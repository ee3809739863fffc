"""Does the jobs: evaluates intents, passes on what they yield, and ends deleted ones (steps 4 to 6).

An evaluation is synchronous: it holds the event loop until it ends or is cut off. An expensive intent cools down before
its next evaluation; one that fails is retried with back-off; one that a directive stops is not evaluated, or only for
its facts. ``evaluation`` defines how an evaluation runs, ``planning/claims.py`` keeps the claims, and
``planning/merge.py`` defines what they mean.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping

from .. import crashpoints
from ..evaluation import BUDGET_EXCEEDED, Outcome, Runner, Status
from ..journal import Entry, Journal
from ..logic import Affected, Job, Service
from ..logic.dependencies import Path
from ..model import Claim, Key, Name, claimed
from ..model.reads import object_read
from ..planning import Planner
from ..reconcile import Loop, RequeueAfter
from ..reconcile.backoff import Backoff
from ..reconcile.failures import Failure
from .allocations import Allocations
from .drift import Drift
from .jobs import Jobs
from .log_fields import LogFields
from .marked_objects import MarkedObjects
from .objects import Objects
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)
_EXPENSIVE = 0.002
"""Seconds. After an evaluation that took longer, its intent cools down before its next one. So a storm of events on a
hub costs a few evaluations of the hub, however the events are spread."""
_COOLDOWN = 10
"""Cooldown as a multiple of the evaluation's time: an expensive intent takes a tenth of the time at most."""
_LONGEST_COOLDOWN = 1.0
_CUT_OFF = Backoff(60.0, 3840.0, jitter=0)
"""When an interrupted evaluation is tried again, unless something that it read changes first. It used its whole budget,
and only a change would make it end sooner."""

_LONGEST_PATH = 12
"""Keys in the path of a journal line. A chain of facts may be longer; its middle is left out."""
_UNFINISHED = frozenset({Status.WAITING, Status.HELD, Status.FAILED, Status.ON_HOLD})
_ENDED_BY_INTENT = frozenset({Status.FAILED, Status.ON_HOLD})
"""The run ended because of the intent's code, not because of a value that can't be read."""


class _Failed(Failure):
    """The run ended because of the intent's code."""


class _CutOff(_Failed):
    """The run used up its budget."""

    backoff = _CUT_OFF


class Claims:
    """The claims of all intents, as evaluations change them. What changes them returns the objects to ``plan``."""

    def __init__(
        self, planner: Planner, drift: Drift, objects: Objects, allocations: Allocations, marked: MarkedObjects
    ) -> None:
        self._book = planner.book
        self._guard = planner.guard
        self._drift = drift
        self._objects = objects
        self._allocations = allocations
        self._marked = marked

    def replace(self, origin: Key, claims: Iterable[Claim], *, keep_finalizers: bool = False) -> frozenset[Name]:
        """Set the claims of an intent after a complete evaluation. ``keep_finalizers``: those that it claimed stay."""
        if keep_finalizers:
            claims = tuple(dict.fromkeys((*claims, *self._book.finalizers_of(origin))))
        return self._changed(origin, self._book.replace(origin, claims))

    def retain(self, origin: Key) -> frozenset[Name]:
        """Keep the claims of a held intent (docs/engine.md §7)."""
        return self._book.retain(origin)

    def replace_status(self, origin: Key, claims: Iterable[Claim]) -> frozenset[Name]:
        """Set what an intent that is on hold claims of status; its other claims stay (docs/engine.md §4.5)."""
        return self._changed(origin, self._book.replace_status(origin, claims))

    def drop(self, origin: Key) -> frozenset[Name]:
        """Remove the claims of an intent that doesn't exist any more."""
        return self._changed(origin, self._book.drop(origin))

    def are_unknown(self, origin: Key) -> bool:
        """Whether an intent is held since before the first pass, so that its claims are unknown."""
        return self._book.is_unknown(origin)

    def owner_deleted(self, origin: Key) -> None:
        """The deletion of an intent was seen live: the deletes that follow need no approval."""
        self._guard.owner_deleted(origin.uuid)

    def plan(self, names: Collection[Name], *, resync: bool = False) -> None:
        """Plan objects whose desired state may have changed, in this order. ``resync``: let live ones go first."""
        self._drift.meant(names)
        if not resync:
            self._objects.plan(names)
            return
        for name in names:
            # An object in back-off must be planned with the new claims.
            self._objects.plan((name,), resync=not self._objects.backs_off(name))

    def _changed(self, origin: Key, names: frozenset[Name]) -> frozenset[Name]:
        """Track the objects on which the intent changed its claims, if they may show a value allocated to it."""
        if self._allocations.holds(origin.uuid):
            self._marked.claims_changed(origin.uuid, names)
        return names


class Evaluator:
    """The loop over the jobs."""

    def __init__(
        self,
        logic: Service,
        runner: Runner,
        states: StateTables,
        journal: Journal,
        jobs: Jobs,
        allocations: Allocations,
        claims: Claims,
        log_fields: LogFields,
        *,
        on_end: Callable[[], None],
    ) -> None:
        self._logic = logic
        self._runner = runner
        self._states = states
        self._journal = journal
        self._jobs = jobs
        self._allocations = allocations
        self._claims = claims
        self._log_fields = log_fields
        self.loop: Loop[Key] = Loop(
            self._evaluate_in_turn, name="evaluate", queue=jobs, on_failure=_note_failure, on_end=on_end
        )
        self._is_paced = False
        """Whether expensive intents cool down, since other tasks want the event loop."""
        self._cool_at: dict[Key, float] = {}
        self.cooling_down: set[Key] = set()
        """Expensive intents with a new job during their cooldown."""
        self.runs = 0
        self.seconds = 0.0
        """The total time of all jobs, and how many were slow enough to start a cooldown."""
        self.slow_runs = 0
        self.idle_walks = 0
        self._begun: dict[Key, Path] = {}
        """The paths of runs that did not complete: what resumes them (an allocation, time) has no path."""
        self.missing_reactions: dict[tuple[str, str], int] = {}
        """(reader kind, read kind) → how often recorded reads ran an intent that the reaction map did not reach."""

    async def run(self) -> None:
        """Do the jobs until cancelled."""
        self._is_paced = True
        await self.loop.run()

    def _evaluate_in_turn(self, key: Key) -> RequeueAfter | None:
        """Do the job of this intent, unless it cools down."""
        if not self._is_paced:
            self._evaluate(key)
            return None
        clock = asyncio.get_running_loop().time
        before = clock()
        if (cool_at := self._cool_at.pop(key, 0.0)) > before:
            self._cool_at[key] = cool_at
            self.cooling_down.add(key)
            return RequeueAfter(cool_at - before, keeps_failures=True)
        self.cooling_down.discard(key)
        try:
            self._evaluate(key)
        finally:
            seconds = clock() - before
            self.seconds += seconds
            if seconds > _EXPENSIVE:
                self.slow_runs += 1
                if self._logic.exists(key):
                    self._cool_at[key] = before + seconds + min(_COOLDOWN * seconds, _LONGEST_COOLDOWN)
        return None

    def end(self, keys: Collection[Key], *, live: bool) -> None:
        """End deleted intents: their claims and their allocations. ``live``: the deletions were seen live."""
        for key in sorted(keys):
            dropped = sorted(self._claims.drop(key))
            self._claims.plan(dropped)
            self._journal.add(_ended(key, dropped, self._logic.revision))
            self._states.forget(key)
            self._jobs.forget(key)
            self._allocations.release(key.uuid)
            self._cool_at.pop(key, None)
            self._begun.pop(key, None)
            if live:
                self._claims.owner_deleted(key)

    def _evaluate(self, key: Key) -> None:
        """Run one intent, and apply its outcome. Raises ``_Failed``."""
        job = self._jobs.take_cause(key)
        if job.missing is not None:
            self.note_missing(job.missing, key)
        if not job.by_readers and key in self._states.evaluated:
            self.idle_walks += 1
            return
        if self._stopped(key):
            return
        self.runs += 1
        path = job.path or self._begun.get(key, ())
        outcome = self._outcome(key)
        status = outcome.status
        crashpoints.reach("evaluate.done")
        is_unfinished = status in _UNFINISHED
        changed = self._claims.retain(key) if is_unfinished else frozenset()
        affected = self._affected_by(outcome)
        self._pass_on(path or (key,), affected)
        name_of = self._logic.name_of
        if self._states.note(key, status, outcome.waiting_for, outcome.problems, name_of):
            self._log_held(key, status.value, path, outcome.problems[-1].trace if outcome.problems else ())
        match status:
            case Status.DONE:
                changed = self._claims.replace(key, outcome.claims)
                self._begun.pop(key, None)
            case Status.DELETED:
                changed = self._claims.drop(key)
            case Status.ENDING:
                changed = self._claims.replace(key, outcome.claims, keep_finalizers=True)
            case Status.ON_HOLD:
                changed |= self._claims.replace_status(key, outcome.claims)
        if path and is_unfinished:
            self._begun[key] = path
        for member, problem in affected.cycles:
            changed |= self._claims.retain(member)
            if self._states.stop(member, problem):
                self._log_held(member, problem.reason, path)
        objects = _in_order(changed, outcome.claims)
        self._claims.plan(objects, resync=self._jobs.is_resync(key))
        self._journal.add(
            Entry(
                revision=self._logic.revision,
                origin=key,
                path=path,
                status=status.value,
                claims=len(outcome.claims),
                objects=objects,
                source_revision=self._logic.mod_revision(path[0]) if path else 0,
            )
        )
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug(
                "evaluated %s: %s, claims on %d objects changed",
                key,
                status.value,
                len(objects),
                extra=self._log_fields.about(key, path),
            )
        self._allocations.outcome(outcome)
        if status is Status.FAILED:
            raise _CutOff if outcome.problems[-1].reason == BUDGET_EXCEEDED else _Failed

    def _pass_on(self, path: Path, affected: Affected) -> None:
        """End facts without contributors, and schedule the intents that changed facts affect. ``path``: the path to the
        intent that yields the facts."""
        self.end(affected.deleted, live=True)
        self._jobs.schedule(_led_by(path, affected.jobs))

    def _affected_by(self, outcome: Outcome) -> Affected:
        """Record what an evaluation read and yielded; return the intents that its facts affect. A held intent keeps
        yielding the facts of the last good values, so that no other intent loses them in a restart."""
        logic, key = self._logic, outcome.key
        if outcome.status is Status.DONE:
            return logic.evaluated(key, outcome.reads, outcome.facts, complete=True)
        reads, facts = outcome.reads, None
        if outcome.status is Status.HELD or (outcome.status in _ENDED_BY_INTENT and self._is_to_be_recalled(key)):
            recalled = self._runner.recall(key, logic.last_good(key))
            if recalled.status is Status.DONE:
                reads, facts = reads | recalled.reads, recalled.facts
        return logic.evaluated(key, reads, facts, complete=False)

    def _is_to_be_recalled(self, key: Key) -> bool:
        """Whether facts of an intent that fails or is on hold must be recomputed from its last good value.

        True if this process never evaluated it completely, and knows the value of an earlier run but not its facts."""
        logic = self._logic
        return self._claims.are_unknown(key) and key in logic.superseded and not logic.keeps_facts(key)

    def _log_held(self, key: Key, reason: str, path: Path, trace: Iterable[str] = ()) -> None:
        """``trace``: where the author's code failed; part of the message, so that pytest shows it, too."""
        extra = {"reason": reason, **self._log_fields.about(key, path)}
        frames = "".join(f"\n  {line}" for line in trace)
        _LOG.warning("%s is held, its outputs stay as they are%s", key, frames, extra=extra)

    def _stopped(self, key: Key) -> bool:
        """Whether a directive stops the intent: it is paused, or suspected to have ended a process."""
        stops = self._states.stopped.get(key)
        if not stops or not self._logic.exists(key):
            return False
        revision = self._logic.mod_revision(key)
        in_force = [stop for stop in stops.values() if stop.until is None or stop.until >= revision]
        if not in_force:
            return False
        problem = in_force[0].problem
        self._claims.retain(key)
        if all(stop.until is None for stop in in_force):
            # Paused: others go on using its facts, which follow its other inputs, before a restart and after it. A
            # suspect is not run even for its facts, since that may end the process.
            recalled = self._runner.recall(key, self._logic.last_good(key))
        else:
            recalled = None
        if recalled is not None and recalled.status is Status.DONE:
            facts = self._logic.evaluated(key, recalled.reads, recalled.facts, complete=False)
        else:
            facts = self._logic.keep_facts(key)
        self._pass_on((key,), facts)
        if self._states.stop(key, problem):
            self._log_held(key, problem.reason, ())
        return True

    def _outcome(self, key: Key) -> Outcome:
        """The outcome of the evaluation; for an intent that was given up, an empty one."""
        dropped = self._states.dropped.get(key)
        if dropped is None or not self._logic.exists(key):
            return self._runner.run(key)
        if self._logic.mod_revision(key) > dropped:
            del self._states.dropped[key]
            return self._runner.run(key)
        return Outcome(key, Status.DONE, frozenset({object_read(key)}))

    def note_missing(self, pair: tuple[str, str], key: Key | None = None) -> None:
        """Count a missing reaction: a change ran an intent, or made it stale, but no path of the map reaches it.
        ``key``: the intent, if it is known."""
        if pair not in self.missing_reactions:
            extra = self._log_fields.about(key) if key is not None else None
            _LOG.warning(
                "missing reaction: %s reads %s, but no path of the reaction map leads there", *pair, extra=extra
            )
        self.missing_reactions[pair] = self.missing_reactions.get(pair, 0) + 1


def _led_by(path: Path, jobs: Mapping[Key, Job]) -> Mapping[Key, Job]:
    """The same, with the path to the intent whose facts affect them."""
    if not jobs:
        return jobs
    if len(path) >= _LONGEST_PATH:
        path = (path[0], *path[2 - _LONGEST_PATH :])
    return {key: Job(job.by_readers, (*path, key), job.missing) for key, job in jobs.items()}


def _ended(key: Key, dropped: Iterable[Name], revision: int) -> Entry:
    """The journal's line of an intent that is no longer evaluated, since it was deleted."""
    return Entry(revision, key, (key,), Status.DELETED.value, 0, tuple(dropped))


def _in_order(objects: Collection[Name], claims: Iterable[Claim]) -> tuple[Name, ...]:
    """Objects in the order in which they were yielded, so that authors control it; then the unclaimed ones by name."""
    if len(objects) < 2:
        return tuple(objects)
    yielded = {name: None for name in map(claimed, claims) if name in objects}
    return (*yielded, *sorted(name for name in objects if name not in yielded))


def _note_failure(key: Key, error: Exception) -> None:
    """Raise an internal error; a failure of an intent is in its state."""
    if not isinstance(error, _Failed):
        raise error
