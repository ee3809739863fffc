"""Many deletes at once need a person's leave (docs/engine.md §5.7).

A wrong configuration, a lost prefix or a faulty compiler shows itself as a pass that would delete a large part of what
we made. Such a pass is held per kind until a person allows it. What makes an object an orphan is
``orphans.py``'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from intentc.model import Name

MAX_DELETES = 50
MAX_SHARE = 0.05
"""A pass may delete the larger of both: so many objects of a kind, or this share of those of the kind that are ours."""


class DeleteGuard:
    """Holds what a pass would delete too much. ``max_deletes``, ``max_share``: the limits."""

    def __init__(self, max_deletes: int = MAX_DELETES, max_share: float = MAX_SHARE) -> None:
        self._max_deletes = max_deletes
        self._max_share = max_share
        self._gone: set[str] = set()
        self._withheld: dict[str, frozenset[Name]] = {}
        self._allowed: set[Name] = set()

    def owner_gone(self, uuid: str) -> None:
        """The delete event of an owner was seen live: what it leaves behind doesn't count until ``settle``."""
        self._gone.add(uuid)

    def settle(self, leaves_something: Callable[[str], object]) -> None:
        """Forget the owners that went of which nothing is left; an owner that came again counts again."""
        self._gone = set(filter(leaves_something, self._gone))

    def sift(self, orphans: Mapping[Name, str], owned: Mapping[str, int]) -> None:
        """A pass would delete ``orphans`` (name → the origin in its mark) of ``owned`` objects per kind: hold all of a
        kind of which that is too many. Replaces what earlier passes held."""
        counted: dict[str, set[Name]] = {}
        self._allowed.intersection_update(orphans)
        for name, origin in orphans.items():
            if origin not in self._gone and name not in self._allowed:
                counted.setdefault(name.kind, set()).add(name)
        self._withheld = {
            kind: frozenset(names)
            for kind, names in counted.items()
            if len(names) > max(self._max_deletes, self._max_share * owned.get(kind, 0))
        }

    def holds(self, name: Name) -> bool:
        """Whether this object must not be deleted before leave is given."""
        return name in self._withheld.get(name.kind, ())

    def allow(self, kind: str) -> frozenset[Name]:
        """Leave is given for what is withheld of one kind, until it is gone, also if a later pass finds it still there.
        Returns the objects to plan again."""
        allowed = self._withheld.pop(kind, frozenset())
        self._allowed |= allowed
        return allowed

    @property
    def withheld(self) -> Mapping[str, Collection[Name]]:
        """Kind → the objects whose deletion is held."""
        return self._withheld
