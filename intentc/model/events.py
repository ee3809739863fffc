"""What the watch delivers: the world at one revision, then one batch per revision, and corrections from the relist.

Values stay bytes here; ``logic/decoding.py`` decodes them. ``watch`` decides which store they are from, and
how gaps are noticed.

Values only.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """One key of the store at ``mod_revision``: ``value`` is the JSON as written, or None if the key is deleted (then
    ``create_revision`` is 0)."""

    kind: str
    uuid: str
    value: bytes | None
    create_revision: int
    mod_revision: int


class Snapshot(NamedTuple):
    """Everything that exists at ``revision``; anything else that the receiver knows is deleted. ``restored``: the store
    is known to have been replaced, or restored to an older state."""

    revision: int
    changes: tuple[Change, ...]
    restored: bool = False


class Batch(NamedTuple):
    """All changes of one revision: applied together or not at all."""

    revision: int
    changes: tuple[Change, ...]


class Correction(NamedTuple):
    """The state of some keys at ``revision``, which no event reported. If the receiver has applied a later revision, a
    newer change of one of these keys has precedence, and the applied revision stays."""

    revision: int
    changes: tuple[Change, ...]
