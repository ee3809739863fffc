"""How each intent and object stands: evaluated, waiting, held, or with problems; what ``/status`` tells from.

Kept apart from the queues because it outlives the work: a held intent has no job waiting, and must still be listed
with its reason (docs/engine.md §7). It decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sized
from operator import attrgetter
from typing import NamedTuple, TypeVar

from ..evaluation import Status
from ..model import Key, Name, Operation, Problem, Read
from ..model.reads import object_read
from ..queue import Quarantine
from .problem_counts import ProblemCounts

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Sized)


class Stop(NamedTuple):
    """Why an intent is not evaluated. ``until``: a write of its resource after this revision ends that; None: only an
    order does."""

    problem: Problem
    until: int | None = None


class IntentStates:
    """Tables by intent and by object. An intent has at most one of waiting and held."""

    def __init__(self) -> None:
        self.problem_counts = ProblemCounts()
        """Every problem that these tables hold."""
        self.evaluated: set[Key] = set()
        self.waiting: dict[Key, Read] = {}
        self.held: Quarantine[Key] = Quarantine(replace=self.problem_counts.replace)
        self.held_by: dict[Key, Key] = {}
        """Of those the ones that read a resource that can't be read → that resource."""
        self.refused: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        self.delayed: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        """Objects whose last write failed in a way that time may heal; they are tried again by themselves."""
        self.numbers_refused: Quarantine[Key] = Quarantine(replace=self.problem_counts.replace)
        """Intents whose numbers the ledger refuses; they are asked for again and again."""
        self.contended: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        """Objects that another writer sets back again and again; they are tried again by and by."""
        self.left_alone: Quarantine[Name] = Quarantine(replace=self.problem_counts.replace)
        """Objects that an operator has paused."""
        self.left_if_ours: dict[Name, Problem] = {}
        """Objects of intents that an operator has paused: left alone, too, as far as they carry our mark."""
        self.stopped: dict[Key, dict[str, Stop]] = {}
        """Intents that are not evaluated, though they could be, by reason: paused, suspected of ending a process."""
        self.dropped: dict[Key, int] = {}
        """Intents that an operator has given up → the mod revision of their resource at which that was said."""
        self.planned: dict[Name, tuple[Operation, ...]] = {}
        """What would be written, while nothing may be."""
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
        """Remember how the last run of an intent ended. True if it is held now for a reason that is news. One that
        can't be read itself is listed by the cache, with the reason. ``name_of``: how people call a resource."""
        self._tell(self._problems, key, problems)
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        match status:
            case Status.FAILED if problems:
                return self.held.hold(key, problems[-1])
            case Status.HELD if waiting_for is not None and waiting_for != object_read(key):
                other = self.held_by[key] = Key(waiting_for[1], waiting_for[2])
                message = f"it reads {other.kind} {name_of(other)}, which can't be read; mend that"
                return self.held.hold(key, Problem(key.kind, name_of(key), "Held", message))
            case Status.WAITING if waiting_for is not None:
                self.waiting[key] = waiting_for
            case Status.DONE:
                self.evaluated.add(key)
        self.held.release(key)
        return False

    def stop(self, key: Key, problem: Problem) -> bool:
        """The intent is not evaluated now, by order: it is held. True if that is news."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        return self.held.hold(key, problem)

    def cut_off(self, key: Key, problem: Problem) -> bool:
        """The run of an intent ended well, but its facts go round: it is held all the same. True if that is news."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        return self.held.hold(key, problem)

    def forget(self, key: Key) -> None:
        """The intent is gone."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held_by.pop(key, None)
        self.held.release(key)
        self.numbers_refused.release(key)
        self.dropped.pop(key, None)
        self._tell(self._problems, key, ())

    def note_object(self, name: Name, problems: tuple[Problem, ...], waits_for: frozenset[Name]) -> None:
        """Remember what planning an object brought to light."""
        self._tell(self._object_problems, name, problems)
        _set(self.object_waits, name, waits_for)

    def wrote(self, name: Name) -> None:
        """The server took the last write of the object."""
        self.refused.release(name)
        self.delayed.release(name)

    def is_held(self, key: Key) -> bool:
        """Whether what this intent contributed must stay as it is: its last run gave no complete answer."""
        return key in self.held or key in self.waiting

    def told_by(self, key: Key) -> tuple[Problem, ...]:
        """The problems of an intent's last run, wherever they are told."""
        return self._problems.get(key, ())

    def told_of(self, name: Name) -> tuple[Problem, ...]:
        """The problems that the last plan of an object brought to light."""
        return self._object_problems.get(name, ())

    def problems(self, unreadable: Iterable[Problem] = ()) -> tuple[Problem, ...]:
        """Every problem there is now, sorted, each once."""
        return tuple(sorted({*self.problem_counts, *unreadable}))

    def _tell(self, table: dict[K, tuple[Problem, ...]], key: K, problems: tuple[Problem, ...]) -> None:
        before = table.get(key, ())
        if before != problems:
            self.problem_counts.replace(before, problems)
            _set(table, key, problems)


def _set(table: dict[K, T], key: K, value: T) -> None:
    """Keep what is not empty."""
    if value:
        table[key] = value
    else:
        table.pop(key, None)
