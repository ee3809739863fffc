"""A table from a key to a set of members that keeps a single member without a set.

Relations, indexes and readers all are such tables, with mostly one member a key; a Python set of one costs 216 bytes,
so it is made only for the second. It is a plain container: what keys and members mean is its owner's business.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class MultiMap(Generic[K, V]):
    """Key → members. Members must not be sets themselves."""

    __slots__ = ("_table",)

    def __init__(self) -> None:
        self._table: dict[K, Any] = {}

    def add(self, key: K, member: V) -> None:
        found = self._table.setdefault(key, member)
        if found is member:
            return
        if found.__class__ is set:
            found.add(member)
        elif found != member:
            self._table[key] = {found, member}

    def discard(self, key: K, member: V) -> None:
        """Take one member out; nothing happens if it is not there."""
        found = self._table.get(key)
        if found.__class__ is set:
            found.discard(member)
            if len(found) == 1:
                self._table[key] = found.pop()
        elif found is not None and found == member:
            del self._table[key]

    def get(self, key: K) -> Collection[V]:
        """The members as they are now; the collection is ours and may change with the next call of ``add``."""
        found = self._table.get(key)
        if found is None:
            return ()
        return found if found.__class__ is set else (found,)

    def keys(self) -> tuple[K, ...]:
        """All keys as they are now."""
        return tuple(self._table)

    def __contains__(self, key: K) -> bool:
        return key in self._table

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._table)
