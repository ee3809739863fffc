"""The present problems, each counted once however many parts report it.

Why kept: ``/status`` is asked every second, and gathering the problems of 20,000 intents takes almost 0.1 s.
``state_tables`` knows who reports them.

State: problem and count, and the resources whose problems changed, once somebody asks for these; in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ..model import Problem


class ProblemCounts:
    """Problems by the resource that they are about, in the order in which they were first reported."""

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
        """Kind and name of each resource whose problems have changed since the last call; at the first call, of each
        that has one. For one caller."""
        changed, self._changed = self._changed, set()
        return tuple(self._about) if changed is None else changed

    def __iter__(self) -> Iterator[Problem]:
        return (problem for about in self._about.values() for problem in about)

    def __len__(self) -> int:
        return self._size

    def _note(self, problem: Problem) -> None:
        if self._changed is not None:
            self._changed.add((problem.kind, problem.name))
