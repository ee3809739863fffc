"""From changes in etcd to elements in the world: decoded, encoded once, what was refused before honoured.

Why it exists: a watch may tell of a thing twice, of a rejection before its element, and of values that nobody can read;
the world only hears of what is new. Where the changes come from is left to ``serving``, writing rejections to
``records``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

from intentc.model.events import Batch, Change, Snapshot

from .element_states import Key
from .elements import Malformed, Rejection, concerns_envoy, decode_element, decode_rejection
from .encoding import Unencodable, Version, encode, unencoded
from .kinds import REJECTION
from .world import World

_LOG = logging.getLogger(__name__)


class Recorded(NamedTuple):
    """A rejection as it stands in etcd, written at ``revision``."""

    rejection: Rejection
    revision: int


class Intake:
    """What has been taken in so far."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.records: dict[Key, Recorded] = {}
        self.unencodable: list[tuple[Key, str]] = []
        """Whom to record, with what is wrong: emptied by who records."""
        self._elements: dict[str, Key] = {}
        self._holders: dict[Key, str] = {}
        self._record_keys: dict[str, Key] = {}
        self._revisions: dict[str, int] = {}

    def apply(self, item: Snapshot | Batch) -> None:
        """One delivery of the watch. Rejections first: an element that comes with its own is not offered at all."""
        changes = [change for change in item.changes if concerns_envoy(change)]
        if isinstance(item, Snapshot):
            changes += self._gone(changes, item.revision)
        changes.sort(key=lambda change: change.kind != REJECTION)
        for change in changes:
            if change.kind == REJECTION:
                self._take_rejection(change)
            else:
                self._take_element(change)
        self.world.revision = item.revision

    def _gone(self, listed: Iterable[Change], revision: int) -> list[Change]:
        there = {(change.kind, change.uuid) for change in listed}
        held = {(key[0], uuid) for uuid, key in self._elements.items()}
        held |= {(REJECTION, uuid) for uuid in self._record_keys}
        return [Change(kind, uuid, None, 0, revision) for kind, uuid in sorted(held - there)]

    def _take_element(self, change: Change) -> None:
        if change.value is None:
            self._revisions.pop(change.uuid, None)
            key = self._elements.pop(change.uuid, None)
            # A name may have been taken over by another object meanwhile.
            if key is not None and self._holders.get(key) == change.uuid:
                del self._holders[key]
                self.world.want(key, None)
            return
        if self._revisions.get(change.uuid) == change.mod_revision:
            return
        try:
            element = decode_element(change)
        except Malformed as error:
            _LOG.error("left as it was, since it can't be read: %s", error, extra=_about(change))
            return
        key = (element.kind, element.name)
        self._elements[change.uuid] = key
        self._holders[key] = change.uuid
        self._revisions[change.uuid] = change.mod_revision
        try:
            version = encode(element)
        except Unencodable as error:
            version, reason = unencoded(element), f"no valid message: {error}"
            self.unencodable.append((key, reason))
        else:
            reason = self._refused_before(key, version)
        self.world.want(key, version, reason)
        self._restore(key)

    def _refused_before(self, key: Key, version: Version) -> str:
        """Why this very version was refused; empty if it was not, or was written again since."""
        record = self.records.get(key)
        if record is None or record.rejection.digest != version.digest or version.element.revision > record.revision:
            return ""
        return record.rejection.message or "refused before"

    def _restore(self, key: Key) -> None:
        """What was in force before what is wanted, if a former process left it and we know nothing better: it was good,
        whatever version was refused then."""
        record, standing = self.records.get(key), self.world.standings.get(key)
        if standing is None or standing.wanted is None or standing.last_good is not None:
            return
        if record is None or record.rejection.last_good is None:
            return
        element, guards, config = standing.wanted.element, record.rejection.guards, record.rejection.last_good
        try:
            good = encode(element._replace(config=config, clusters=(), guards=guards))
        except Unencodable as error:
            extra = {"key": " ".join(key), "revision": element.revision}
            _LOG.warning("%s %s: its last good state can't be used any more: %s", *key, error, extra=extra)
            return
        self.world.restore(key, good)

    def _take_rejection(self, change: Change) -> None:
        if change.value is None:
            gone = self._record_keys.pop(change.uuid, None)
            if gone is not None and self.records.pop(gone, None) is not None:
                self._try_again(gone)
            return
        try:
            rejection = decode_rejection(change)
        except Malformed as error:
            _LOG.error("a rejection that can't be read is passed over: %s", error, extra=_about(change))
            return
        key = (rejection.element_kind, rejection.element_name)
        self._record_keys[change.uuid] = key
        self.records[key] = Recorded(rejection, change.mod_revision)
        standing = self.world.standings.get(key)
        # Told by another server over the same etcd: don't ask our own Envoys what is known already.
        if standing is not None and standing.wanted is not None and standing.wanted is not standing.good:
            reason = self._refused_before(key, standing.wanted)
            if reason and not standing.refused:
                self.world.standings.refuse(key, reason)
                self.world.enforce(key)
        self._restore(key)

    def orphans(self) -> list[Key]:
        """Whose records stand there, though they themselves are gone."""
        return [key for key in self.records if self.world.standings.get(key) is None]

    def _try_again(self, key: Key) -> None:
        """Somebody took the record away: that is how an operator asks for another trial."""
        standing = self.world.standings.get(key)
        if standing is not None and standing.refused and standing.wanted is not None and standing.wanted.resource:
            self.world.standings.try_again(key)
            self.world.enforce(key)


def _about(change: Change) -> dict[str, Any]:
    """What the log says besides: which key it is, and where it stands."""
    return {"key": f"{change.kind}/{change.uuid}", "revision": change.mod_revision}
