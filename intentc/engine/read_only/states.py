"""Shows the state of each intent and of each object: evaluated, waiting, held, rejected, queued, with its problems.

It reads ``state_tables`` and the queues, live, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from typing import Protocol, TypeVar

from ...model import Key, Name, Operation, Problem, Read
from ...reconcile import Quarantined
from ..object_queue import ObjectQueue
from ..scheduler import Scheduler
from ..state_tables import StateTables, Stop

K = TypeVar("K")


class Table(Protocol[K]):
    """Held keys with their reasons, the oldest first."""

    def items(self) -> tuple[tuple[K, Quarantined], ...]: ...

    def get(self, key: K, /) -> Quarantined | None: ...

    def __iter__(self) -> Iterator[K]: ...

    def __contains__(self, key: object, /) -> bool: ...

    def __len__(self) -> int: ...


class States:
    """Tables by intent, by object, and their places in the two queues. The tables are live: read them between two
    awaits."""

    def __init__(self, *, states: StateTables, scheduler: Scheduler, objects: ObjectQueue) -> None:
        self._states = states
        self._scheduler = scheduler
        self._objects = objects
        self.evaluated: Set[Key] = states.evaluated
        """The intents whose last evaluation is complete and valid."""
        self.waiting: Mapping[Key, Read] = states.waiting
        """Waiting intents → the read that they wait for."""
        self.held: Table[Key] = states.held
        """Intents held for a reason of their own, or because of what they read."""
        self.held_by: Mapping[Key, Key] = states.held_by
        """Held intents that read a resource that can't be read → that resource."""
        self.stopped: Mapping[Key, Mapping[str, Stop]] = states.stopped
        """Intents that a directive stops, by reason."""
        self.dropped: Mapping[Key, int] = states.dropped
        """Intents that an operator has given up → the mod revision that their resource had then."""
        self.rejected_requests: Table[Key] = states.rejected_requests
        """Intents whose requests the allocator rejects."""
        self.rejected: Table[Name] = states.rejected
        """Objects that the API server rejects."""
        self.delayed: Table[Name] = states.delayed
        """Objects whose last write failed temporarily."""
        self.contended: Table[Name] = states.contended
        """Objects that another writer reverts repeatedly."""
        self.left_alone: Table[Name] = states.left_alone
        """Objects that an operator has paused."""
        self.planned: Mapping[Name, tuple[Operation, ...]] = states.planned
        """The writes that wait for permission."""
        self.object_waits: Mapping[Name, frozenset[Name]] = states.object_waits
        """Objects → the objects that must change before the rest of them can be planned."""

    def is_held(self, key: Key) -> bool:
        """Whether what this intent contributed must stay: its last run gave no complete answer."""
        return self._states.is_held(key)

    def problems(self, unreadable: Iterable[Problem] = ()) -> tuple[Problem, ...]:
        """All present problems, sorted, each once. ``unreadable``: those of resources that can't be read."""
        return self._states.problems(unreadable)

    @property
    def reported_problems(self) -> Iterable[Problem]:
        """The problems that intents and plans report, those of unreadable resources left out; in order of arrival."""
        return self._states.problem_counts

    @property
    def problem_count(self) -> int:
        """How many these are."""
        return len(self._states.problem_counts)

    def problems_about(self, kind: str, name: str) -> Iterator[Problem]:
        """The problems of one resource, under the name that they use for it."""
        return self._states.problem_counts.about(kind, name)

    @property
    def subjects_of_problems(self) -> Collection[tuple[str, str]]:
        """Kind and name of each resource with a problem."""
        return self._states.problem_counts.subjects

    def take_changed_subjects(self) -> Collection[tuple[str, str]]:
        """Kind and name of each resource whose problems have changed since the last call; at the first call, of each
        that has one. For one caller."""
        return self._states.problem_counts.take_changed()

    def problems_of_run(self, key: Key) -> tuple[Problem, ...]:
        """The problems that an intent's last run reported, on whichever resource."""
        return self._states.problems_of_run(key)

    def problems_of_plan(self, name: Name) -> tuple[Problem, ...]:
        """The problems that an object's last plan reported."""
        return self._states.problems_of_plan(name)

    def has_job(self, key: Key) -> bool:
        """Whether the intent is to be evaluated, is being evaluated, or is in a back-off."""
        return self._scheduler.is_busy(key)

    def is_queued(self, name: Name) -> bool:
        """Whether the object is to be planned, is being planned or written, or is in a back-off."""
        return self._objects.is_busy(name)

    def failed_evaluations(self, key: Key) -> int:
        """How often the evaluation of this intent has failed in a row."""
        return self._scheduler.failures(key)

    def failed_writes(self, name: Name) -> int:
        """How often the writes of this object have failed in a row."""
        return self._objects.failures(name)

    def next_evaluation(self, key: Key) -> float | None:
        """Seconds until this intent is evaluated again after a failure; None if no time is set for that."""
        return self._scheduler.seconds_left(key)

    def next_write(self, name: Name) -> float | None:
        """Seconds until this object is planned again after a failure, or after its contention; None if no time is set
        for that."""
        return self._objects.seconds_left(name)
