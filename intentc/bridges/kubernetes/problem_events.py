"""Reports problems of objects of the cluster as Events on them: what can't be mirrored, and what compilers report.

Why it exists: a user who applies an object looks at that object, not at ``/status`` of the bridge or of a compiler. A
problem gets an Event when it begins, and again when the cluster has dropped that one, while it lasts. Many problems
must not flood the cluster with Events: those above the limit come later. An Event that exists already costs nothing of
the limit.

Namespaces take turns, so that one with thousands of problems holds up no other. The new problems of a namespace come
first, and ten of them before the old ones of all: those from before this process led, which a former process probably
reported, and those that had an Event. An Event that the cluster denies has a back-off of its own and comes after the
others. A namespace that denied 50 in a row waits as a whole.

State: the present problems with what became of their Events, and namespaces, since this process leads; what is left of
the limit, and pauses. It writes to the cluster, by ``event_recorder``.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from intentc.model import Key
from intentc.reconcile import Loop, RequeueAfter
from intentc.reconcile.backoff import Backoff

from .event_recorder import Events, Regarding, Result

_MOST = 100
"""Events of this sort in ``_SECONDS``."""
_SECONDS = 600.0
_FAILED_SECONDS = 30.0
"""After a cluster that took none, and after the first failure in a namespace; twice as long after each further one."""
_FAILED = Backoff(_FAILED_SECONDS, 600.0, jitter=0.0)
"""Of one process: nobody returns together with others."""
_LOOK = "look"
"""The one key of the loop: ranks and turns are decided over all problems."""
_AGAIN_SECONDS = 50 * 60.0
"""After an Event was written: clusters drop Events after an hour, by default."""
_PRESENT_SECONDS = 12 * 60.0
"""After an Event was there already, which may be dropped at any time."""
_AGAIN_AT_ONCE = 10
"""Requests in one look for problems that had an Event: most of them find it there."""
_DENIED_IN_A_ROW = 50
"""So many denied Events are about themselves; after them the namespace as a whole takes none."""
_FIRST = 10
"""So many new problems of a namespace come before the old ones of all namespaces."""
_SETTLED_SECONDS = 600.0
"""Of leading; problems that are found afterwards are new, even if a list is missing."""


class Note(NamedTuple):
    """What an Event says. ``reason`` and ``action``: in CamelCase, as Kubernetes has them."""

    reason: str
    action: str
    words: str


Notes = Mapping[Key, tuple[Note, ...]]


@dataclass(slots=True)
class _Waiting:
    """``due_at``: not before this time; ``failures``: in succession."""

    due_at: float = float("-inf")
    failures: int = 0

    def failed(self, now: float) -> None:
        self.failures += 1
        self.due_at = now + _FAILED.seconds(self.failures)


@dataclass(slots=True)
class _Problem(_Waiting):
    """``is_old``: from before this process led; ``has_event``: the cluster had one once; ``namespace``: None if the
    object was never known."""

    is_old: bool = False
    has_event: bool = False
    namespace: str | None = None

    @property
    def rank(self) -> int:
        """0: new; the higher, the later."""
        return 3 if self.failures else 2 if self.has_event else int(self.is_old)


@dataclass(slots=True)
class _Namespace(_Waiting):
    """``turn``: its last one; low if it waits for long."""

    turn: int = 0

    def failed(self, now: float) -> None:
        self.failures += 1
        if self.failures >= _DENIED_IN_A_ROW:
            self.due_at = now + _FAILED.seconds(self.failures - _DENIED_IN_A_ROW + 1)


class _Due(NamedTuple):
    about: Regarding
    note: Note
    problem: _Problem


class ProblemEvents:
    """Reports. ``problems``: the present ones of all kinds; ``regarding``: such an object, None if it is not known, or
    its kind no longer served; ``may_write``: whether this process leads; ``knows_all``: whether the problems from
    before it led are all among ``problems``; ``period``: seconds between two looks."""

    def __init__(
        self,
        events: Events,
        problems: Callable[[], Notes],
        regarding: Callable[[Key], Regarding | None],
        may_write: Callable[[], bool],
        knows_all: Callable[[], bool],
        period: float,
    ) -> None:
        self._events = events
        self._present = problems
        self._regarding = regarding
        self._may_write = may_write
        self._knows_all = knows_all
        self._period = period
        self._problems: dict[Key, dict[Note, _Problem]] = {}
        self._namespaces: dict[str, _Namespace] = {}
        self._turn = 0
        self._leads_since: float | None = None
        self._is_settled = False
        """Whether a problem that is found now began since this process leads."""
        self._left = _MOST
        self._full_at = 0.0
        self.loop: Loop[str] = Loop(lambda key: self._look(), name="problem events")
        self.loop.add(_LOOK)

    @property
    def present(self) -> int:
        """How many problems there are; 0 if this process does not lead."""
        return sum(map(len, self._problems.values()))

    @property
    def reported(self) -> int:
        """How many of the present problems have had an Event, as far as this process has seen since it leads."""
        return sum(problem.has_event for found in self._problems.values() for problem in found.values())

    async def _look(self) -> RequeueAfter:
        """Report what is due; the next look is later after a cluster that takes no Events."""
        if self._may_write():
            is_taken = await self._report_due(asyncio.get_running_loop().time())
            return RequeueAfter(self._period if is_taken else _FAILED_SECONDS)
        self._problems.clear()
        self._namespaces.clear()
        self._leads_since, self._is_settled = None, False
        return RequeueAfter(self._period)

    async def _report_due(self, now: float) -> bool:
        """Report what is due; returns whether the cluster takes Events."""
        self._follow(self._present(), now)
        if now >= self._full_at:
            self._left, self._full_at = _MOST, now + _SECONDS
        again = 0
        for one in self._due(now) if self._left else ():
            again += one.problem.has_event
            namespace = self._namespaces[one.about.identity.namespace]
            if namespace.due_at > now or (one.problem.has_event and again > _AGAIN_AT_ONCE):
                continue
            if self._left == 0 or not self._may_write():
                break
            self._turn += 1
            namespace.turn = self._turn
            if not await self._report(one, namespace, now):
                return False
        return True

    async def _report(self, one: _Due, namespace: _Namespace, now: float) -> bool:
        """Report a problem; returns whether the cluster takes Events."""
        problem, result = one.problem, await self._events.report(one.about, *one.note)
        match result:
            case Result.CREATED | Result.PRESENT:
                self._left -= result is Result.CREATED
                problem.has_event = True
                problem.failures = namespace.failures = 0
                problem.due_at = now + (_AGAIN_SECONDS if result is Result.CREATED else _PRESENT_SECONDS)
            case Result.REJECTED:
                problem.due_at = float("inf")
            case Result.HELD:
                problem.failed(now)
                namespace.failed(now)
            case Result.FAILED:
                # It may be about this Event after all: others come first next time.
                problem.failed(now)
        return result is not Result.FAILED

    def _follow(self, present: Notes, now: float) -> None:
        """Note which problems there are. Forgets what ended."""
        self._leads_since = now if self._leads_since is None else self._leads_since
        ended = self._problems.keys() - present.keys()
        for key in ended:
            del self._problems[key]
        for key, notes in present.items():
            known = self._problems.get(key, {})
            if tuple(known) != notes:
                self._problems[key] = {note: known.get(note) or _Problem(is_old=not self._is_settled) for note in notes}
        if ended:
            used = {problem.namespace for found in self._problems.values() for problem in found.values()}
            for name in self._namespaces.keys() - used:
                del self._namespaces[name]
        if not self._is_settled:
            self._is_settled = self._knows_all() or now - self._leads_since >= _SETTLED_SECONDS

    def _due(self, now: float) -> list[_Due]:
        """What is to be reported, in this order."""
        queues: defaultdict[str, list[_Due]] = defaultdict(list)
        for key, found in self._problems.items():
            due = [(note, problem) for note, problem in found.items() if problem.due_at <= now]
            about = self._regarding(key) if due else None
            if about is None:
                continue
            for note, problem in due:
                problem.namespace = about.identity.namespace
                queues[problem.namespace].append(_Due(about, note, problem))
        order: list[tuple[int, int, _Due]] = []
        for name, queue in queues.items():
            turn = self._namespaces.setdefault(name, _Namespace()).turn
            queue.sort(key=lambda one: one.problem.rank)
            order += [(at if one.problem.rank == 0 else at + _FIRST, turn, one) for at, one in enumerate(queue)]
        return [one for *_, one in sorted(order, key=lambda found: found[:2])]
