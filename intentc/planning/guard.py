"""Withholds mass deletions until a person approves them (docs/engine.md §5.7).

A wrong configuration, a lost prefix or a faulty compiler shows as a pass that would delete a large part of our objects.
Such a pass is withheld per kind until a person allows it. ``orphans.py`` defines what an orphan is.

State: what is withheld and what is approved, and the deleted owners whose objects don't count, in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from intentc.model import Name

MAX_DELETES = 50
MAX_SHARE = 0.05
"""A pass may delete the larger of the two: this many objects of a kind, or this share of our objects of the kind."""


class DeleteGuard:
    """Withholds the excess deletes of a pass. ``max_deletes``, ``max_share``: the limits."""

    def __init__(self, max_deletes: int = MAX_DELETES, max_share: float = MAX_SHARE) -> None:
        self._max_deletes = max_deletes
        self._max_share = max_share
        self._deleted_owners: set[str] = set()
        self._withheld: dict[str, frozenset[Name]] = {}
        self._allowed: set[Name] = set()

    def owner_deleted(self, uuid: str) -> None:
        """An owner's delete event was seen live: its objects don't count until ``forget``."""
        self._deleted_owners.add(uuid)

    @property
    def deleted_owners(self) -> Set[str]:
        """The owners whose objects don't count."""
        return self._deleted_owners

    def forget(self, owners: Set[str]) -> None:
        """Forget deleted owners that have no objects left; an owner that was created again counts again."""
        self._deleted_owners -= owners

    def sift(self, orphans: Mapping[Name, str], owned: Mapping[str, int]) -> None:
        """A pass would delete ``orphans`` (name → the origin in its mark) out of ``owned`` objects per kind: withhold
        all of a kind with too many. Replaces what earlier passes withheld."""
        counted: dict[str, set[Name]] = {}
        self._allowed.intersection_update(orphans)
        for name, origin in orphans.items():
            if origin not in self._deleted_owners and name not in self._allowed:
                counted.setdefault(name.kind, set()).add(name)
        self._withheld = {
            kind: frozenset(names)
            for kind, names in counted.items()
            if len(names) > max(self._max_deletes, self._max_share * owned.get(kind, 0))
        }

    def holds(self, name: Name) -> bool:
        """Whether the deletion of this object needs approval."""
        return name in self._withheld.get(name.kind, ())

    def allow(self, kind: str) -> frozenset[Name]:
        """Approve the withheld deletes of one kind; the approval holds until the objects are deleted, even if a later
        pass finds them again. Returns the objects to plan again."""
        allowed = self._withheld.pop(kind, frozenset())
        self._allowed |= allowed
        return allowed

    @property
    def withheld(self) -> Mapping[str, Collection[Name]]:
        """Kind → the objects whose deletion is withheld."""
        return self._withheld
