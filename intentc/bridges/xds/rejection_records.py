"""Writes rejections to etcd, and deletes them: ``/<path>/envoy_rejection/<uuid>``.

Why it exists: the compiler ``ambassador`` holds what Envoy rejected, and a restarted server must not offer it again;
both read these records. They are written directly to the store, not through the API server, so that Envoys' answers are
recorded while the API server is down. ``watch_consumer`` reads the records. Other xDS servers over the same etcd put
and delete these keys as well; an operator may delete one.

A record that the store does not take (it may be too large) has a back-off of its own, and delays no other.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping

import msgspec

from intentc.reconcile import Loop, Pause
from intentc.reconcile.backoff import Backoff
from intentc.watch.keys import Layout
from intentc.watch.protocol import Delete, Operation, Put, Store

from .element_states import ElementState, Phase
from .elements import REJECTION, ROUTE, SECRET, Key, Rejection
from .encoding import Version
from .snapshot_cache import SnapshotCache
from .watch_consumer import Recorded

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


def rejection_of(state: ElementState) -> Rejection | None:
    """The record of a rejected element; None if it is not rejected."""
    wanted, good = state.wanted, state.last_good
    if wanted is None or not state.rejection:
        return None
    kind, name = wanted.key
    return Rejection(
        kind,
        name,
        wanted.digest,
        state.rejection,
        wanted.element.origins,
        # A secret is not copied into another record.
        msgspec.json.decode(good.config) if good is not None and kind != SECRET else None,
        good.element.guards if good is not None else (),
        _meanwhile(state, wanted),
    )


def _meanwhile(state: ElementState, wanted: Version) -> str:
    """Describes what is in force in place of a rejected version; empty if that is the last good version."""
    if state.unguarded:
        return f"its last good version lacks {', '.join(state.unguarded)}: until it is fixed nobody listens there"
    if state.last_good is not None or wanted.element.kind != ROUTE:
        return ""
    if state.fallbacks:
        return "until it is fixed its requests are answered with 503"
    return "it is left out, and not even 503 in its place is accepted: its requests go to other routes"


class Records:
    """Writes the latest record of each element in the background. ``stored``: the records that the watch delivered."""

    def __init__(self, store: Store, path: str, stored: Mapping[Key, Recorded]) -> None:
        self._store = store
        self._stored = stored
        self._layout = Layout.of(f"/{path.strip('/')}/")
        self._waiting: dict[Key, Rejection | None] = {}
        self._written: set[Key] = set()
        self.loop: Loop[Key] = Loop(self._write, backoff=_NOT_TAKEN, pause=Pause(_RETRY), on_failure=_log)

    @property
    def waiting(self) -> int:
        """The number of pending writes."""
        return len(self._waiting)

    def write(self, cache: SnapshotCache) -> None:
        """Have the records of accepted, rejected and deleted elements written."""
        for key in sorted(cache.unrecorded):
            state = cache.state(key)
            if state is None or state.phase is Phase.ACCEPTED:
                self.record(key, None)
            elif (rejection := rejection_of(state)) is not None and not self._is_stored(key, state, rejection):
                self.record(key, rejection)
        cache.unrecorded.clear()

    def _is_stored(self, key: Key, state: ElementState, rejection: Rejection) -> bool:
        """Whether the store has a rejection already: a version tried again is rejected with the same words."""
        known = self._stored.get(key)
        if known is None or known.rejection != rejection or key in self._waiting or state.wanted is None:
            return False
        return known.revision >= state.wanted.element.revision

    def record(self, key: Key, rejection: Rejection | None) -> None:
        """Write ``rejection`` about ``key``; None deletes the record, if there is one."""
        if rejection is not None:
            self._written.add(key)
        elif key in self._written or key in self._stored:
            self._written.discard(key)
        else:
            return
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
