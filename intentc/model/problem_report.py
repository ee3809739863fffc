"""The problems of one mirrored resource, as a compiler stores them in etcd for the bridge that reports them.

Why in the model: the compiler's leader writes reports, and the Kubernetes bridge reads them; neither knows the other.
A report stands under ``/intentc/problems/<path>/<installation>/<kind>/<uuid>``, next to the resources and not among
them, so that it is no input of a compile.

Values only.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from .names import Key, stored_segment
from .problem import Problem

MOST_PROBLEMS = 20
"""Problems of one report; the others are in ``intentc show problems``."""
LONGEST_MESSAGE = 1000
"""Characters of a message."""


class ReportedProblem(msgspec.Struct, frozen=True, order=True):
    """See ``Problem``."""

    reason: str
    message: str


class ProblemReport(msgspec.Struct, frozen=True):
    """``problems``: at least one, sorted."""

    problems: tuple[ReportedProblem, ...]

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> ProblemReport:
        """The report of these problems, each once.

        >>> one = Problem("farm", "north", "NoCrops", "no crop is valid; give one")
        >>> ProblemReport.of([one, one]).problems
        (ReportedProblem(reason='NoCrops', message='no crop is valid; give one'),)
        """
        found = {ReportedProblem(one.reason, one.message[:LONGEST_MESSAGE]) for one in problems}
        return cls(tuple(sorted(found)[:MOST_PROBLEMS]))


def problem_reports_prefix(path: str, installation: str = "") -> str:
    """The prefix of the reports on the resources below ``/<path>/``; with ``installation``: of those that its compilers
    write."""
    prefix = f"/intentc/problems/{path}/"
    return f"{prefix}{installation}/" if installation else prefix


def reported_key(segment: str) -> Key | None:
    """The resource of a report, by the rest of its key after the installation; None if that has another form.
    ``segment``: as a watch of all installations delivers it.

    >>> reported_key("farm%2Fuid-1")
    Key(kind='farm', uuid='uid-1')
    """
    kind, _, uuid = stored_segment(segment).partition("/")
    return Key(kind, uuid) if kind and uuid else None
