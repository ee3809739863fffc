"""What a line of the log says besides its message, where it concerns an intent or an object: which one, at which
revision, and by which reaction path.

The fields are an interface (docs/operating.md), so they are made in one place. Bodies are never among them.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from ..journal import Entry
from ..logic.dependencies import Path
from ..model import Key, Name
from .parts import Parts

_RECENT = 500
"""Lines of the journal in which the path to an object is looked for."""


def about(parts: Parts, subject: Key | Name, path: Path | None = None) -> dict[str, Any]:
    """``extra`` of a line: ``key`` (kind/uuid; of an object that isn't there, its kind and name), ``resource`` (kind
    and name), ``revision`` (what is applied), ``reaction_path`` (kinds and names; of an object without ``path`` that of
    the last evaluation that changed what is wanted of it, if that was just now)."""
    logic = parts.logic
    if isinstance(subject, Name):
        found = logic.named(subject.kind, subject.fq_name) if subject.kind in logic.schema else None
        key, resource = str(found or subject), str(subject)
        path = _path_to(parts, subject) if path is None else path
    else:
        key, resource = str(subject), f"{subject.kind} {logic.name_of(subject)}"
    return {
        "key": key,
        "resource": resource,
        "revision": logic.revision,
        "reaction_path": [f"{step.kind} {logic.name_of(step)}" for step in path or ()],
    }


def _path_to(parts: Parts, name: Name) -> Path:
    for line in islice(parts.journal.newest_first(), _RECENT):
        if isinstance(line, Entry) and name in line.objects:
            return line.path
    return ()
