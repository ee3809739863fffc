"""Makes the structured fields of log lines about an intent or object: which one, at which revision, by which path.

The fields are an interface (docs/operating.md), so one place makes them. They never hold bodies.

It reads the world and the journal, and changes neither.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from ..journal import Entry, Journal
from ..logic import LiveWorld
from ..logic.dependencies import Path
from ..model import Key, Name

_RECENT = 500
"""Lines of the journal that are searched for the path to an object."""


class LogFields:
    """Reads names from ``logic``, and paths from ``journal``."""

    def __init__(self, logic: LiveWorld, journal: Journal) -> None:
        self._logic = logic
        self._journal = journal

    def about(self, subject: Key | Name, path: Path | None = None) -> dict[str, Any]:
        """The ``extra`` of a log line: ``key`` (kind/uuid; for an absent object its kind and name), ``resource`` (kind
        and name), ``revision`` (the last applied one), ``reaction_path`` (kinds and names). An object without ``path``
        gets the path of the last evaluation that changed its claims, if that is recent."""
        logic = self._logic
        if isinstance(subject, Name):
            found = logic.named(subject.kind, subject.fq_name) if subject.kind in logic.schema else None
            key, resource = str(found or subject), str(subject)
            path = self._path_to(subject) if path is None else path
        else:
            key, resource = str(subject), f"{subject.kind} {logic.name_of(subject)}"
        return {
            "key": key,
            "resource": resource,
            "revision": logic.revision,
            "reaction_path": [f"{step.kind} {logic.name_of(step)}" for step in path or ()],
        }

    def _path_to(self, name: Name) -> Path:
        for line in islice(self._journal.newest_first(), _RECENT):
            if isinstance(line, Entry) and name in line.objects:
                return line.path
        return ()
