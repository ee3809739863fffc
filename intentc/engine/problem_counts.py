"""The problems that there are, each once however often it is told: counted as they come and go.

Why kept: ``/status`` is asked every second, and gathering the problems of 20,000 intents takes most of a tenth of one.
Who tells them, and what is done about them, is ``states``'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model import Problem


class ProblemCounts:
    """Problems by what they are about, in the order in which they came."""

    def __init__(self) -> None:
        self._about: dict[tuple[str, str], dict[Problem, int]] = {}
        self._size = 0

    def replace(self, before: Iterable[Problem], after: Iterable[Problem]) -> None:
        """Somebody who told ``before`` tells ``after`` from now on."""
        # First what comes: what stays keeps its place.
        for problem in after:
            about = self._about.setdefault((problem.kind, problem.name), {})
            told = about.get(problem, 0)
            about[problem] = told + 1
            self._size += not told
        for problem in before:
            about = self._about[problem.kind, problem.name]
            about[problem] -= 1
            if not about[problem]:
                del about[problem]
                self._size -= 1
            if not about:
                del self._about[problem.kind, problem.name]

    def about(self, kind: str, name: str) -> Iterator[Problem]:
        """Those of one resource, by the name that they have it by."""
        return iter(self._about.get((kind, name), ()))

    def __iter__(self) -> Iterator[Problem]:
        return (problem for about in self._about.values() for problem in about)

    def __len__(self) -> int:
        return self._size
