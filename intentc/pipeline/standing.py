"""How each intent and object stands: evaluated, waiting, held, or with problems; what ``/status`` tells from.

Kept apart from the queues because it outlives the work: a held intent has no job waiting, and must still be listed
with its reason (engine.md §7). It decides nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sized
from typing import NamedTuple, TypeVar

from ..evaluation import Status
from ..model import Key, Name, Operation, Problem, Read
from ..model.reads import object_read
from ..queue import Quarantine

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Sized)


class Stop(NamedTuple):
    """Why an intent is not evaluated. ``until``: a write of its resource after this revision ends that; None: only an
    order does."""

    problem: Problem
    until: int | None = None


class Standing:
    """Tables by intent and by object. An intent has at most one of waiting and held."""

    def __init__(self) -> None:
        self.evaluated: set[Key] = set()
        self.waiting: dict[Key, Read] = {}
        self.held: Quarantine[Key] = Quarantine()
        self.refused: Quarantine[Name] = Quarantine()
        self.delayed: Quarantine[Name] = Quarantine()
        """Objects whose last write failed in a way that time may heal; they are tried again by themselves."""
        self.numbers_refused: Quarantine[Key] = Quarantine()
        """Intents whose numbers the ledger refuses; they are asked for again and again."""
        self.fought: Quarantine[Name] = Quarantine()
        """Objects that another writer sets back again and again; they are tried again by and by."""
        self.left_alone: Quarantine[Name] = Quarantine()
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

    def note(self, key: Key, status: Status, waiting_for: Read | None, problems: tuple[Problem, ...]) -> bool:
        """Remember how the last run of an intent ended. True if it is held now for a reason that is news. One that
        can't be read itself is listed by the cache, with the reason."""
        _set(self._problems, key, problems)
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        match status:
            case Status.FAILED if problems:
                return self.held.hold(key, problems[-1])
            case Status.HELD if waiting_for is not None and waiting_for != object_read(key):
                message = f"it reads {waiting_for[1]}/{waiting_for[2]}, which can't be read; mend that"
                return self.held.hold(key, Problem(key.kind, key.uuid, "Held", message))
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
        return self.held.hold(key, problem)

    def cut_off(self, key: Key, problem: Problem) -> bool:
        """The run of an intent ended well, but its facts go round: it is held all the same. True if that is news."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        return self.held.hold(key, problem)

    def forget(self, key: Key) -> None:
        """The intent is gone."""
        self.evaluated.discard(key)
        self.waiting.pop(key, None)
        self.held.release(key)
        self.numbers_refused.release(key)
        self.dropped.pop(key, None)
        self._problems.pop(key, None)

    def note_object(self, name: Name, problems: tuple[Problem, ...], waits_for: frozenset[Name]) -> None:
        """Remember what planning an object brought to light."""
        _set(self._object_problems, name, problems)
        _set(self.object_waits, name, waits_for)

    def wrote(self, name: Name) -> None:
        """The object is as it should be, as far as writing goes."""
        self.refused.release(name)
        self.delayed.release(name)
        self.fought.release(name)

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
        found = {problem for problems in self._problems.values() for problem in problems}
        found |= {problem for problems in self._object_problems.values() for problem in problems}
        found |= {
            quarantined.problem
            for _, quarantined in (
                *self.held.items(),
                *self.refused.items(),
                *self.numbers_refused.items(),
                *self.delayed.items(),
                *self.fought.items(),
                *self.left_alone.items(),
            )
        }
        return tuple(sorted(found | set(unreadable)))


def _set(table: dict[K, T], key: K, value: T) -> None:
    """Keep what is not empty."""
    if value:
        table[key] = value
    else:
        table.pop(key, None)
