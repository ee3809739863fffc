"""Measures how far the watch has come, and how far it could have: the lag in revisions, and a listing's progress.

Why it exists: operators ask "is it behind, and by how much?" before anything else, and the last applied revision does
not answer that, since most revisions of a busy etcd may not concern us. ``applied`` records what is applied; nothing is
decided by these figures.
"""

from __future__ import annotations


class Progress:
    """``seen``: the highest revision that etcd is known to have had. ``passed``: everything of ours up to it has been
    delivered and applied. ``listed`` of ``to_list`` keys have been read by the listing under way."""

    def __init__(self) -> None:
        self.seen = 0
        self.passed = 0
        self.listed = 0
        self.to_list = 0

    @property
    def lag(self) -> int | None:
        """Revisions between ``passed`` and ``seen``; None before the first listing was applied."""
        return max(0, self.seen - self.passed) if self.passed else None

    def saw(self, revision: int) -> None:
        """Note that etcd has reached this revision, whatever answer reported it."""
        self.seen = max(self.seen, revision)

    def listing(self, listed: int, to_list: int) -> None:
        """Note how many keys of a listing have been read."""
        self.listed, self.to_list = listed, to_list

    def start_over(self, revision: int) -> None:
        """Note that the world was listed and applied at ``revision``; older figures are void after a restore."""
        self.seen = self.passed = revision

    def delivered(self, revision: int) -> None:
        """Note that a batch of ours was applied. If a beat overtook it, ``passed`` goes back to the batch."""
        self.saw(revision)
        self.passed = revision

    def beat(self, revision: int) -> None:
        """Note a sign of life on the watch: everything written before it has arrived, too."""
        self.saw(revision)
        self.passed = max(self.passed, revision)
