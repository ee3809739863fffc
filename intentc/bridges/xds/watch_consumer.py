"""Turns changes in etcd into elements and rejections in the cache, each once.

A watch may deliver a change twice, a rejection before its element, and values that can't be read. A recorded rejection
keeps its version from being offered, and restores the last good version that a former process knew; when the record is
deleted, the version is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from intentc.model.events import Batch, Change, Snapshot

from ..process import with_deletions
from .elements import KINDS, REJECTION, Key, Malformed, Rejection, decode_element, decode_rejection
from .encoding import Unencodable, Version, encode, unencoded
from .snapshot_cache import SnapshotCache

_LOG = logging.getLogger(__name__)


class Recorded(NamedTuple):
    """A rejection in etcd, written at ``revision``."""

    rejection: Rejection
    revision: int


class WatchConsumer:
    """Applies deliveries of the watch to the cache."""

    def __init__(self, cache: SnapshotCache) -> None:
        self.cache = cache
        self.records: dict[Key, Recorded] = {}
        self._elements: dict[str, Key] = {}
        self._holders: dict[Key, str] = {}
        self._record_keys: dict[str, Key] = {}
        self._revisions: dict[str, int] = {}

    def apply(self, item: Snapshot | Batch) -> None:
        """Apply one delivery, rejections first: an element that arrives with its rejection is not offered at all."""
        changes = with_deletions(item, KINDS, self._known())
        changes.sort(key=lambda change: change.kind != REJECTION)
        for change in changes:
            if change.kind == REJECTION:
                self._take_rejection(change)
            else:
                self._take_element(change)
        self.cache.revision = item.revision

    def _known(self) -> Iterator[tuple[str, str]]:
        yield from ((key[0], uuid) for uuid, key in self._elements.items())
        yield from ((REJECTION, uuid) for uuid in self._record_keys)

    def _take_element(self, change: Change) -> None:
        if change.value is None:
            self._revisions.pop(change.uuid, None)
            key = self._elements.pop(change.uuid, None)
            # Another object may have taken the name meanwhile.
            if key is not None and self._holders.get(key) == change.uuid:
                del self._holders[key]
                self.cache.want(key, None)
            return
        if self._revisions.get(change.uuid) == change.mod_revision:
            return
        try:
            element = decode_element(change)
        except Malformed as error:
            _LOG.error("an element can't be read, and its last version stays: %s", error, extra=_about(change))
            return
        key = (element.kind, element.name)
        self._elements[change.uuid] = key
        self._holders[key] = change.uuid
        self._revisions[change.uuid] = change.mod_revision
        try:
            version = encode(element)
        except Unencodable as error:
            self.cache.want(key, unencoded(element), f"no valid message: {error}", is_recorded=False)
        else:
            self.cache.want(key, version, self._rejected_before(key, version))
        self._restore(key)

    def _rejected_before(self, key: Key, version: Version) -> str:
        """Why this version was rejected before; empty if it was not, or was written again since."""
        record = self.records.get(key)
        if record is None or record.rejection.digest != version.digest or version.element.revision > record.revision:
            return ""
        return record.rejection.message or "rejected before"

    def _restore(self, key: Key) -> None:
        """Restore the last good version that a former process recorded, unless a newer one is known.

        It was good whatever version was rejected then.
        """
        record, state = self.records.get(key), self.cache.state(key)
        if state is None or state.wanted is None or state.last_good is not None:
            return
        if record is None or record.rejection.last_good is None:
            return
        element, guards, config = state.wanted.element, record.rejection.guards, record.rejection.last_good
        try:
            good = encode(element._replace(config=config, clusters=(), guards=guards))
        except Unencodable as error:
            extra = {"key": " ".join(key), "revision": element.revision}
            _LOG.warning("%s %s: its last good state can't be used any more: %s", *key, error, extra=extra)
            return
        self.cache.restore(key, good)

    def _take_rejection(self, change: Change) -> None:
        if change.value is None:
            key = self._record_keys.pop(change.uuid, None)
            if key is not None and self.records.pop(key, None) is not None:
                self._try_again(key)
            return
        try:
            rejection = decode_rejection(change)
        except Malformed as error:
            _LOG.error("a rejection can't be read and is ignored: %s", error, extra=_about(change))
            return
        key = (rejection.element_kind, rejection.element_name)
        self._record_keys[change.uuid] = key
        self.records[key] = Recorded(rejection, change.mod_revision)
        state = self.cache.state(key)
        # Another server over the same etcd recorded this: don't offer our own Envoys what is known to be rejected.
        if state is not None and state.wanted is not None and state.wanted is not state.good:
            reason = self._rejected_before(key, state.wanted)
            if reason and not state.rejection:
                self.cache.reject(key, reason)
        self._restore(key)

    def orphans(self) -> list[Key]:
        """Elements that are deleted while their records remain."""
        return [key for key in self.records if self.cache.state(key) is None]

    def _try_again(self, key: Key) -> None:
        """Offer a rejected version again: deleting its record is how an operator asks for that."""
        state = self.cache.state(key)
        if state is not None and state.rejection and state.wanted is not None and state.wanted.resource:
            self.cache.try_again(key)


def _about(change: Change) -> dict[str, Any]:
    """Log fields: the key and its revision."""
    return {"key": f"{change.kind}/{change.uuid}", "revision": change.mod_revision}
