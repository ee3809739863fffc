"""Indexes the values that resources offer in the indexes of their kinds.

``ctx.select`` and the resolvers ``selector`` and ``glob`` look values up here. Offers are kept per resource, since a
selector needs all of them together; kinds without declared indexes cost nothing.

State: members and offers, in memory; only ``cache.py`` changes it.
"""

from __future__ import annotations

from collections.abc import Collection

from intentc.model import Key, Resource
from intentc.model.multimap import MultiMap

from .states import NO_OFFERS, Offers


def offers_of(resource: Resource | None) -> Offers:
    """The values that ``resource`` offers, by declared index."""
    if resource is None or not resource.kind.indexes:
        return NO_OFFERS
    return {index: resource.offers(index) for index in resource.kind.indexes}


class IndexTable:
    """(kind, index, value) → the keys that offer it, and the reverse."""

    def __init__(self) -> None:
        self._members: MultiMap[tuple[str, str, str], Key] = MultiMap()
        self._offers: dict[Key, Offers] = {}

    def replace(self, key: Key, offers: Offers) -> None:
        """Set the offers of ``key``; ``NO_OFFERS`` removes it."""
        before = self._offers.get(key, NO_OFFERS)
        for index, values in before.items():
            for value in values:
                self._members.discard((key.kind, index, value), key)
        for index, values in offers.items():
            for value in values:
                self._members.add((key.kind, index, value), key)
        if offers:
            self._offers[key] = offers
        else:
            self._offers.pop(key, None)

    def offered(self, key: Key) -> Offers:
        """The present offers of ``key``."""
        return self._offers.get(key, NO_OFFERS)

    def find(self, kind: str, index: str, value: str) -> Collection[Key]:
        """The keys of ``kind`` that offer ``value`` in ``index``."""
        return self._members.get((kind, index, value))
