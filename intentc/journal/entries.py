"""The two kinds of journal lines: an evaluation with its cause, and a write that followed from evaluations.

They hold names, keys, revisions and counts, never a resource's body: the journal is shown to people, and kept in files.

Values only; a line takes the time at which it is made.
"""

from __future__ import annotations

import time

import msgspec

from intentc.model import Key, Name


class Entry(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="evaluation"):
    """One evaluation of ``origin`` when everything up to ``revision`` was applied.

    ``path``: the keys from the changed resource (the source) to ``origin``, both included, through facts as well; empty
    if nothing in the store led here. A run that waited or failed keeps its path for the run that resumes it.
    ``status``: how it ended (``done``, ``waiting``, …). ``claims``: the number it yielded. ``objects``: those whose
    claims it changed. ``at``: seconds since 1970. ``source_revision``: the source's last mod revision, if known then; 0
    if the source was deleted, or there is no path.
    """

    revision: int
    origin: Key
    path: tuple[Key, ...]
    status: str
    claims: int
    objects: tuple[Name, ...]
    at: float = msgspec.field(default_factory=time.time)
    source_revision: int = 0

    @property
    def source(self) -> Key:
        """The resource whose change led to this evaluation."""
        return self.path[0] if self.path else self.origin


class Write(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="write"):
    """One write of the object ``name`` that the API server acknowledged.

    ``revision``: the applied revision when it was planned. ``operation``: ``create``, ``update``, … ``written``: the
    revision in the server's answer, None if it had none. ``drift``: it repairs another writer's change. ``at``: seconds
    since 1970. ``uuid``: the object's, empty if not known. ``fields``: the names of the fields that it set in an
    existing object, references as ``KIND_refs``.
    """

    revision: int
    name: Name
    operation: str
    written: int | None
    drift: bool = False
    at: float = msgspec.field(default_factory=time.time)
    uuid: str = ""
    fields: tuple[str, ...] = ()


Line = Entry | Write


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A line with its ``sequence``: 1 for the first line of a process, then consecutive; 0 if it is from a file."""

    sequence: int
    line: Line


def touches(line: Line, name: Name) -> bool:
    """Whether a line is about an object: a write of it, or an evaluation that changed claims on it."""
    return line.name == name if isinstance(line, Write) else name in line.objects
