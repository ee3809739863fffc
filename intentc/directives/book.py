"""Putting, withdrawing and listing orders.

Why apart from watching: commands put orders and look them up without a compiler. Withdrawing compares the revision, so
that an order that was put anew meanwhile is not lost.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from intentc.model import InvalidInput
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Delete, Put, Store, unchanged

from .directive import Order, decode, encode, order_key, orders_prefix

_LOG = logging.getLogger(__name__)


class Kept(NamedTuple):
    """An order as it lies in etcd, and the revision at which it was put."""

    order: Order
    mod_revision: int


class Book:
    """The orders of one installation. Every call raises ``StoreError``."""

    def __init__(self, store: Store, installation: str) -> None:
        self._store = store
        self._installation = installation

    async def put(self, order: Order) -> int:
        """Put an order in place of an older one about the same; the revision."""
        key = order_key(self._installation, order)
        return (await self._store.transaction([], [Put(key, encode(order))])).revision

    async def withdraw(self, kept: Kept) -> int:
        """Take an order away; the revision. 0: it was gone, or a newer one lies there and stays."""
        key = order_key(self._installation, kept.order)
        done = await self._store.transaction([unchanged(key, kept.mod_revision)], [Delete(key)])
        return done.revision if done.succeeded else 0

    async def list(self) -> tuple[Kept, ...]:
        """All orders, by sort and by what they are about. What can't be read is logged and left out."""
        prefix = orders_prefix(self._installation)
        listing = await list_all(self._store, Layout.of(prefix), _foreign)
        found = []
        for change in listing.snapshot.changes:
            try:
                order = decode(change.kind, change.uuid, change.value or b"")
            except InvalidInput as error:
                _LOG.warning("the order %s%s/%s is passed over: %s", prefix, change.kind, change.uuid, error.message)
            else:
                found.append(Kept(order, change.mod_revision))
        return tuple(found)


def _foreign(key: str) -> None:
    _LOG.warning("the key %s is no order; it is passed over", key)
