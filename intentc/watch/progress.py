"""How far the watch has come, and how far it could have: the lag in revisions, and the progress of a listing.

Why it exists: who operates a compiler asks "is it behind, and by how much?" before anything else, and the last applied
revision alone does not tell, since most revisions of a busy etcd may be none of ours. What is applied is ``applied``'s
business; nothing is decided by these figures.
"""

from __future__ import annotations


class Reach:
    """``seen``: the highest revision that etcd is known to have had. ``passed``: everything up to it that concerns us
    has been delivered and applied. ``listed`` of ``to_list`` keys have been read by the listing under way."""

    def __init__(self) -> None:
        self.seen = 0
        self.passed = 0
        self.listed = 0
        self.to_list = 0

    @property
    def lag(self) -> int | None:
        """Revisions between both; None before the first listing was applied."""
        return max(0, self.seen - self.passed) if self.passed else None

    def saw(self, revision: int) -> None:
        """etcd has come to this revision, by whatever it told of it."""
        self.seen = max(self.seen, revision)

    def listing(self, listed: int, to_list: int) -> None:
        """So many keys of a listing have been read."""
        self.listed, self.to_list = listed, to_list

    def start_over(self, revision: int) -> None:
        """The world was listed as of ``revision`` and applied; what was known of a store that was put back is void."""
        self.seen = self.passed = revision

    def delivered(self, revision: int) -> None:
        """A batch of ours was applied. A beat may have overtaken it: then it was not as far as that had it."""
        self.saw(revision)
        self.passed = revision

    def beat(self, revision: int) -> None:
        """A sign of life came on the watch: what was written before it has come, too."""
        self.saw(revision)
        self.passed = max(self.passed, revision)
