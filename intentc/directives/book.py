"""Puts, withdraws and lists directives.

Why apart from watching: commands put and list directives while no compiler runs. Withdrawing compares the revision, so
that a directive that was put again meanwhile is not lost.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from intentc.model import InvalidInput
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Delete, Put, Store, unchanged

from .directive import Directive, decode, directive_key, directives_prefix, encode

_LOG = logging.getLogger(__name__)


class Kept(NamedTuple):
    """A directive in etcd, and the revision at which it was put."""

    directive: Directive
    mod_revision: int


class Book:
    """The directives of one installation. Every call raises ``StoreError``."""

    def __init__(self, store: Store, installation: str) -> None:
        self._store = store
        self._installation = installation

    async def put(self, directive: Directive) -> int:
        """Put a directive, replacing an older one about the same; return the revision."""
        key = directive_key(self._installation, directive)
        return (await self._store.transaction([], [Put(key, encode(directive))])).revision

    async def withdraw(self, kept: Kept) -> int:
        """Delete a directive; return the revision. 0: it was deleted, or a newer one is there and stays."""
        key = directive_key(self._installation, kept.directive)
        done = await self._store.transaction([unchanged(key, kept.mod_revision)], [Delete(key)])
        return done.revision if done.succeeded else 0

    async def list(self) -> tuple[Kept, ...]:
        """All directives, by sort and by what they are about. Unreadable ones are logged and left out."""
        prefix = directives_prefix(self._installation)
        listing = await list_all(self._store, Layout.of(prefix), _foreign)
        found = []
        for change in listing.snapshot.changes:
            try:
                directive = decode(change.kind, change.uuid, change.value or b"")
            except InvalidInput as error:
                _LOG.warning("the directive %s%s/%s is ignored: %s", prefix, change.kind, change.uuid, error.message)
            else:
                found.append(Kept(directive, change.mod_revision))
        return tuple(found)


def _foreign(key: str) -> None:
    _LOG.warning("the key %s is no directive; it is ignored", key)
