"""Writes rejections to etcd, and deletes them: ``/<path>/envoy_rejection/<uuid>``.

Why it exists: the compiler ``ambassador`` holds what Envoy rejected, and a restarted server must not offer it again;
both read these records. They are written directly to the store, not through the API server, so that Envoys' answers are
recorded while the API server is down. ``rejections`` and ``serving`` decide what to write, and when; ``watch_consumer``
reads the records.

A record that the store does not take (it may be too large) has a back-off of its own, and delays no other.

It puts and deletes these keys, as do other xDS servers over the same etcd; an operator may delete one. State: what is
still to be written, and which records exist, in memory.
"""

from __future__ import annotations

import logging
import uuid

import msgspec

from intentc.reconcile import Loop, Pause
from intentc.reconcile.backoff import Backoff
from intentc.watch.keys import Layout
from intentc.watch.protocol import Delete, Operation, Put, Store

from .elements import REJECTION, Key, Rejection

_LOG = logging.getLogger(__name__)
_RETRY = Backoff(1.0, 1.0, jitter=0)
"""Between tries while the store takes nothing."""
_NOT_TAKEN = Backoff(1.0, 300.0)
"""Between tries of one record that the store does not take."""


def record_uuid(key: Key) -> str:
    """The uuid of the record about an element; one element always has the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"intentc:{REJECTION}:{key[0]}:{key[1]}"))


def record_value(rejection: Rejection) -> bytes:
    """Encode the record as a resource in etcd."""
    name = [rejection.element_kind, rejection.element_name]
    header = {"uuid": record_uuid((name[0], name[1])), "fq_name": name, "name": name[1]}
    return msgspec.json.encode(header | msgspec.to_builtins(rejection))


class Records:
    """Writes the latest record of each element in the background."""

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self._layout = Layout.of(f"/{path.strip('/')}/")
        self._waiting: dict[Key, Rejection | None] = {}
        self._there: set[Key] = set()
        self.loop: Loop[Key] = Loop(self._write, backoff=_NOT_TAKEN, pause=Pause(_RETRY), on_failure=_log)

    @property
    def waiting(self) -> int:
        """The number of pending writes."""
        return len(self._waiting)

    def pending(self, key: Key) -> bool:
        """Whether a write about ``key`` is pending."""
        return key in self._waiting

    def seen(self, key: Key) -> None:
        """Note that the store has a record about ``key``."""
        self._there.add(key)

    def record(self, key: Key, rejection: Rejection | None) -> None:
        """Write ``rejection`` about ``key``; None deletes the record, if there is one."""
        if rejection is None and key not in self._there:
            return
        (self._there.discard if rejection is None else self._there.add)(key)
        self._waiting[key] = rejection
        self.loop.add(key)

    async def _write(self, key: Key) -> None:
        if key not in self._waiting:
            return
        rejection = self._waiting[key]
        at = self._layout.key(REJECTION, record_uuid(key))
        operation: Operation = Delete(at) if rejection is None else Put(at, record_value(rejection))
        await self._store.transaction([], [operation])
        if self._waiting.get(key) is rejection:
            del self._waiting[key]


def _log(key: Key, error: Exception) -> None:
    _LOG.warning("a rejection can't be recorded yet: %s", error, extra={"key": " ".join(key)})
