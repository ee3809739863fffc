"""What comes out of the watch: the world at one revision, then one batch a revision, and what an audit found.

Values stay bytes here; decoding is the cache's door (``model/decode.py``). Which store they come from, and how gaps
are noticed, is ``watch``'s business.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """One key of the store as it stands at ``mod_revision``: ``value`` is the JSON as it was written, or None if the
    key is deleted (then ``create_revision`` is 0)."""

    kind: str
    uuid: str
    value: bytes | None
    create_revision: int
    mod_revision: int


class Snapshot(NamedTuple):
    """Everything there is at ``revision``. What the receiver knows beyond it is gone. ``restored``: the store is known
    to be another one than before, or to stand at an older state."""

    revision: int
    changes: tuple[Change, ...]
    restored: bool = False


class Batch(NamedTuple):
    """All changes of one revision: applied together or not at all."""

    revision: int
    changes: tuple[Change, ...]


class Correction(NamedTuple):
    """How some keys stood at ``revision``, though no event said so. The receiver may have come past that revision: what
    it got since then about one of these keys counts, and how far it has come stays as it is."""

    revision: int
    changes: tuple[Change, ...]
