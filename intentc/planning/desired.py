"""Answers what all claims on an object want of it now, and remembers the answer where many claim.

Why it exists: a plan asks it of its own object, of the targets of its references, and of the holders that keep it from
being deleted. ``merge`` defines what claims come to.

State: none of its own; merged states of objects with many claims are kept in the claim book, which drops them when a
claim changes.
"""

from __future__ import annotations

from intentc.model import Kind, Name

from .assumed import Assumed
from .claims import ClaimBook
from .draft import Draft
from .merge import Desired, merge

_MANY = 8
"""Origins with claims on one object, from which on it is remembered what they come to."""


class DesiredObjects:
    """The desired states by the claims in ``book``; ``assumed`` knows the names of the origins, for problems."""

    def __init__(self, book: ClaimBook, assumed: Assumed) -> None:
        self._book = book
        self._assumed = assumed

    def draft(self, kind: Kind, name: Name) -> Draft:
        """A plan to begin with, of what is wanted of an object."""
        return Draft(name, kind, self._book.on(name), self.of(kind, name))

    def of(self, kind: Kind, name: Name) -> Desired:
        """What all claims on an object want."""
        claims = self._book.on(name)
        if len(claims) < _MANY:
            return merge(kind, name, claims, self._assumed.title)
        found: Desired | None = self._book.merged.get(name)
        if found is None:
            found = merge(kind, name, claims, self._assumed.title)
            if not found.problems:
                self._book.merged[name] = found
        return found
