"""Keeps the state of each intent and object: evaluated, waiting, held, planned, or with problems.

Kept apart from the queues because it outlives the work: a held intent has no job, and must still be listed with its
reason (docs/engine.md §7). Each step writes the states of its own subject. ``reconcile/quarantine.py`` is
one table of held keys.

State: the tables, in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sized
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from ..evaluation import Status
from ..model import Key, Name, Operation, Problem, Read
from ..model.reads import object_read
from ..reconcile import Quarantine

PAUSED = "Paused"
"""The reason of a pause: an operator paused the intent or the object."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Sized)


class Stop(NamedTuple):
    """Why an intent is not evaluated. ``until``: a write of its resource after this revision ends the stop; None: only
    a directive does."""

    problem: Problem
    until: int | None = None


class ProblemCounts:
    """The present problems, each once however many parts report it: by resource, in the order of the first report.

    They are kept because ``/status`` is requested every second, and gathering the problems of 20,000 intents takes
    almost 0.1 s."""

    def __init__(self) -> None:
        self._about: dict[tuple[str, str], dict[Problem, int]] = {}
        self._size = 0
        self._changed: set[tuple[str, str]] | None = None

    def replace(self, before: Iterable[Problem], after: Iterable[Problem]) -> None:
        """A reporter of ``before`` reports ``after`` from now on."""
        # New problems first, so that those that stay keep their place.
        for problem in after:
            about = self._about.setdefault((problem.kind, problem.name), {})
            reporters = about.get(problem, 0)
            about[problem] = reporters + 1
            if not reporters:
                self._size += 1
                self._note(problem)
        for problem in before:
            about = self._about[problem.kind, problem.name]
            about[problem] -= 1
            if not about[problem]:
                del about[problem]
                self._size -= 1
                self._note(problem)
            if not about:
                del self._about[problem.kind, problem.name]

    def about(self, kind: str, name: str) -> Iterator[Problem]:
        """The problems of one resource, under the name that they use for it."""
        return iter(self._about.get((kind, name), ()))

    @property
    def subjects(self) -> Collection[tuple[str, str]]:
        """Kind and name of each resource with a problem."""
        return self._about.keys()

    def take_changed(self) -> Collection[tuple[str, str]]:
        """Kind and name of each resource whose problems have changed since the last call. The first call returns each
        resource with a problem. For one caller only."""
        changed, self._changed = self._changed, set()
        return tuple(self._about) if changed is None else changed

    def __iter__(self) -> Iterator[Problem]:
        return (problem for about in self._about.values() for problem in about)

    def __len__(self) -> int:
        return self._size

    def _note(self, problem: Problem) -> None:
        if self._changed is not None:
            self._changed.add((problem.kind, problem.name))


class StateTables:
    """What is known of each intent and of each object. An intent has at most one of waiting and held. ``unreadable``:
    the resources whose values can't be used now."""

    def __init__(self, unreadable: Mapping[Key, Problem] = MappingProxyType({})) -> None:
        self._unreadable = unreadable
        self.problem_counts = ProblemCounts()
        """Every problem in these tables."""
        self.evaluated: set[Key] = set()
        self.waiting: dict[Key, Read] = {}
        self.held: Quarantine[Key] = Quarantine(replace=self._count_held)
        self.held_by: dict[Key, Key] = {}
        """Held intents that read a resource that can't be read → that resource."""
        self.rejected: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        self.delayed: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        """Objects whose last write failed temporarily; the write is retried with back-off."""
        self.rejected_requests: Quarantine[Key] = Quarantine(replace=self.problem_counts.replace)
        """Intents whose requests the allocator rejects; the requests are retried with back-off."""
        self.contended: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        """Objects that another writer reverts repeatedly; they are retried after 1 minute to 1 hour."""
        self.left_alone: Quarantine[Name] = Quarantine()
        """Objects that an operator has paused. They do not count as problems."""
        self.left_if_ours: dict[Name, Problem] = {}
        """Objects of intents that an operator has paused; those with our mark are left alone as well."""
        self.stopped: dict[Key, dict[str, Stop]] = {}
        """Intents that are not evaluated although they could, by reason: paused, or suspected of ending processes."""
        self.dropped: dict[Key, int] = {}
        """Intents that an operator has dropped → the mod revision that their resource had then."""
        self.planned: dict[Name, tuple[Operation, ...]] = {}
        """The writes that wait for permission."""
        self.object_waits: dict[Name, frozenset[Name]] = {}
        self._problems: dict[Key, tuple[Problem, ...]] = {}
        self._object_problems: dict[Name, tuple[Problem, ...]] = {}

    def note(
        self,
        key: Key,
        status: Status,
        waiting_for: Read | None,
        problems: tuple[Problem, ...],
        name_of: Callable[[Key], str] = attrgetter("uuid"),
    ) -> bool:
        """Record how the last run of an intent ended. True if it is now held for a new reason. The cache lists intents
        whose own resource can't be read. ``name_of``: the name of a resource for people."""
        self._replace(self._problems, key, problems)
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        match status:
            case Status.FAILED | Status.ON_HOLD if problems:
                return self.held.hold(key, problems[-1])
            case Status.HELD if waiting_for is not None and waiting_for != object_read(key):
                other = self.held_by[key] = Key(waiting_for[1], waiting_for[2])
                message = f"it reads {other.kind} {name_of(other)}, which can't be read; fix that resource"
                return self.held.hold(key, Problem(key.kind, name_of(key), "Held", message))
            case Status.WAITING if waiting_for is not None:
                self.waiting[key] = waiting_for
            case Status.DONE:
                self.evaluated.add(key)
        self.held.release(key)
        return False

    def stop(self, key: Key, problem: Problem) -> bool:
        """Hold an intent that a directive stops, or whose facts form a cycle. True if that is news."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        return self.held.hold(key, problem)

    def forget(self, key: Key) -> None:
        """Forget an intent that was deleted."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        self.held.release(key)
        self.rejected_requests.release(key)
        self.dropped.pop(key, None)
        self._replace(self._problems, key, ())

    def note_object(self, name: Name, problems: tuple[Problem, ...], waits_for: frozenset[Name]) -> None:
        """Record the problems of an object's last plan, and what it waits for."""
        self._replace(self._object_problems, name, problems)
        _set(self.object_waits, name, waits_for)

    def wrote(self, name: Name) -> None:
        """The server accepted the last write of the object."""
        self.rejected.release(name)
        self.delayed.release(name)

    def is_held(self, key: Key) -> bool:
        """Whether what this intent contributed must stay: its last run gave no complete answer."""
        return key in self.held or key in self.waiting

    def must_stay(self, key: Key) -> bool:
        """Whether what this intent contributed must stay. True as for ``is_held``, or if its resource can't be read and
        no operator has dropped it."""
        return self.is_held(key) or (key in self._unreadable and key not in self.dropped)

    def problems_of_run(self, key: Key) -> tuple[Problem, ...]:
        """The problems that an intent's last run reported, on whichever resource."""
        return self._problems.get(key, ())

    def problems_of_plan(self, name: Name) -> tuple[Problem, ...]:
        """The problems that an object's last plan reported."""
        return self._object_problems.get(name, ())

    def problems(self, unreadable: Iterable[Problem] = ()) -> tuple[Problem, ...]:
        """All present problems, sorted, each once."""
        return tuple(sorted({*self.problem_counts, *unreadable}))

    def _count_held(self, before: Iterable[Problem], after: Iterable[Problem]) -> None:
        """Count the problems of held intents, except pauses: an operator chose those."""
        self.problem_counts.replace(
            [problem for problem in before if problem.reason != PAUSED],
            [problem for problem in after if problem.reason != PAUSED],
        )

    def _replace(self, table: dict[K, tuple[Problem, ...]], key: K, problems: tuple[Problem, ...]) -> None:
        before = table.get(key, ())
        if before != problems:
            self.problem_counts.replace(before, problems)
            _set(table, key, problems)


def _set(table: dict[K, T], key: K, value: T) -> None:
    """Set a value that isn't empty; remove the key for one that is."""
    if value:
        table[key] = value
    else:
        table.pop(key, None)
