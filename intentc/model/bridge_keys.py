"""Defines what the service and the Kubernetes bridge exchange through etcd: synced kinds, and problems of resources.

Why in the model: neither knows the other. The bridge marks a kind that etcd holds as a whole, and the service waits for
that (``needs_synced``). The compiler's leader writes a report of the problems of one mirrored resource under
``/intentc/problems/<path>/<installation>/<kind>/<uuid>``, next to the resources and not among them, so that it is no
input of a compile; the bridge shows it in the cluster.

Values only.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc.model.names import Key, stored_segment
from intentc.model.problem import Problem


class Mark(msgspec.Struct, frozen=True):
    """``cluster``: what identifies it, empty if that could not be read. ``version``: the resourceVersion up to which it
    was seen. ``served``: whether the cluster has the kind."""

    cluster: str = ""
    version: str = ""
    served: bool = True


def synced_prefix(path: str) -> str:
    """The prefix of the marks of the kinds below ``/<path>/``. Every installation that compiles them reads these."""
    return f"/intentc/synced/{path}/"


def synced_key(path: str, kind: str) -> str:
    """The key of a kind's mark."""
    return f"{synced_prefix(path)}{kind}"


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
