"""The two kinds of lines in the journal: an evaluation with its cause, and a write that came of evaluations.

They hold names, keys, revisions and counts, never a resource's body: the journal is shown to people.
"""

from __future__ import annotations

import time

import msgspec

from intentc.model import Key, Name


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One evaluation of ``origin`` when everything up to ``revision`` was applied.

    ``path``: the keys from the changed resource (the source) to ``origin``, both included; empty if no walk led here.
    ``status``: how it ended (``done``, ``waiting``, …). ``claims``: how many it yielded. ``objects``: those whose
    claims changed by it. ``at``: seconds since 1970.
    """

    revision: int
    origin: Key
    path: tuple[Key, ...]
    status: str
    claims: int
    objects: tuple[Name, ...]
    at: float = msgspec.field(default_factory=time.time)

    @property
    def source(self) -> Key:
        """The resource whose change led to this evaluation."""
        return self.path[0] if self.path else self.origin


class Write(msgspec.Struct, frozen=True, gc=False):
    """One write of the object ``name`` that the API server acknowledged.

    ``revision``: what was applied when it was planned. ``operation``: ``Create``, ``Update``, … ``written``: the
    revision that the server told, None if it tells none. ``drift``: it puts right what somebody else changed.
    ``at``: seconds since 1970.
    """

    revision: int
    name: Name
    operation: str
    written: int | None
    drift: bool = False
    at: float = msgspec.field(default_factory=time.time)
