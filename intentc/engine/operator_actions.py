"""Carries out directives on a running engine: pause and resume, hold a suspect, retry, drop, allow deletes.

Every action is idempotent and takes effect through the queues, like any change. ``directives`` decides who may request
one, and how it outlives a restart.

State: what is paused. It changes the state tables, the records of ``drift`` and the guard of deletions, and fills the
queues.
"""

from __future__ import annotations

from ..logic import LiveWorld
from ..model import Key, Name, Problem
from ..planning import Planner
from .drift import Drift
from .jobs import Jobs
from .objects import Objects
from .state_tables import PAUSED, StateTables, Stop

SUSPECT = "Suspect"
DROPPED = "Dropped"


class OperatorActions:
    """The operator actions over one engine's stages and queues.

    An intent can be paused, dropped and suspect at the same time; each of the three ends only with its own opposite. A
    repeated call replaces the message or the revision; ``retry`` ends none of the three."""

    def __init__(
        self, world: LiveWorld, planner: Planner, states: StateTables, drift: Drift, jobs: Jobs, objects: Objects
    ) -> None:
        self._world = world
        self._planner = planner
        self._states = states
        self._drift = drift
        self._jobs = jobs
        self._objects = objects
        self._paused: dict[Key, Name] = {}

    def pause(self, key: Key, name: tuple[str, ...], message: str) -> None:
        """Stop evaluating an intent and leave its outputs as they are; stop writing an object without an intent."""
        problem = Problem(key.kind, ":".join(name), PAUSED, message or "paused; `intentc resume` ends it")
        place = Name(key.kind, name)
        if self._paused.get(key, place) != place:
            self.resume(key)
        self._paused[key] = place
        if key.kind in self._world.intent_kinds:
            self._stop(key, Stop(problem))
            self._states.left_if_ours[place] = problem
        else:
            self._states.left_alone.hold(place, problem)

    def resume(self, key: Key) -> None:
        """End a pause."""
        self._go_on(key, PAUSED)
        self._objects.plan(self._planner.book.of(key))
        name = self._paused.pop(key, None)
        if name is None:
            return
        self._states.left_if_ours.pop(name, None)
        if self._states.left_alone.release(name):
            self._objects.plan((name,))

    def suspect(self, key: Key, mod_revision: int) -> None:
        """Hold an intent whose evaluation ended processes, until its resource changes."""
        message = (
            "processes ended while they evaluated this; it is held until the resource changes, or until "
            "`intentc quarantine retry`"
        )
        self._stop(key, Stop(Problem(key.kind, self._world.name_of(key), SUSPECT, message), mod_revision))

    def unsuspect(self, key: Key) -> None:
        """Allow the evaluation of a suspect again."""
        self._go_on(key, SUSPECT)

    def allow_deletes(self, kind: str) -> int:
        """Approve the withheld deletes of one kind; return how many there are."""
        names = self._planner.guard.allow(kind)
        self._objects.plan(sorted(names))
        return len(names)

    def retry(self, key: Key | None) -> int:
        """Retry one quarantined intent or object at once, or all of them (None); return how many there were."""
        states = self._states
        intents = [held for held, _ in states.held.items() if key in (None, held) and held not in states.stopped]
        objects = {
            name
            for table in (states.rejected, states.delayed, states.contended)
            for name, _ in table.items()
            if key in (None, self._planner.key_of(name))
        }
        for held in intents:
            self._jobs.forget(held)
            self._jobs.reevaluate((held,))
        for name in sorted(objects):
            self._drift.forget(name)
            self._objects.forget(name)
            self._objects.plan((name,))
        return len(intents) + len(objects)

    def drop(self, key: Key, mod_revision: int) -> None:
        """Give an intent up: withdraw its outputs, and don't compile it until its resource changes."""
        if self._states.dropped.get(key) != mod_revision:
            self._states.dropped[key] = mod_revision
            self._jobs.reevaluate((key,))

    def undrop(self, key: Key) -> None:
        """Compile a dropped intent again."""
        if self._states.dropped.pop(key, None) is not None:
            self._jobs.reevaluate((key,))

    def changed_since(self, key: Key, mod_revision: int) -> bool:
        """Whether the resource was written after that revision, or deleted; False if that revision is not applied."""
        world = self._world
        return world.revision >= mod_revision and world.mod_revision(key) not in range(1, mod_revision + 1)

    def _stop(self, key: Key, stop: Stop) -> None:
        stops = self._states.stopped.setdefault(key, {})
        if stops.get(stop.problem.reason) != stop:
            stops[stop.problem.reason] = stop
            self._jobs.reevaluate((key,))

    def _go_on(self, key: Key, reason: str) -> None:
        stops = self._states.stopped.get(key, {})
        if stops.pop(reason, None) is None:
            return
        if not stops:
            del self._states.stopped[key]
            self._states.held.release(key)
        self._jobs.reevaluate((key,))
