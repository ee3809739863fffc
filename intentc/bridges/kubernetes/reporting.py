"""Writes the status that compilers claim to the objects of the cluster, while this process may write.

Why it exists: each side changes at any time, so an object is looked at whenever one of them shows a change, and what is
sent depends only on what both have then (``status_patch``). If the cluster has a newer one, it is read again. A status
that is denied is tried again with a back-off of its own, and delays no other. Kinds whose status compilers do not claim
cost nothing here. Of the others it also knows the resourceVersion, for Events.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from intentc import crashpoints
from intentc.model import Key
from intentc.model.status import Status
from intentc.reconcile import Loop, open_while
from intentc.reconcile.failures import Conflict, Failure, Rejected

from .cluster import DENIED, Cluster, NotServed
from .rest_mapping import Served
from .status_patch import MANAGER, DesiredStatus, Live, desired_status_of, live_of, status_patch
from .wire import UNUSABLE

_LOG = logging.getLogger(__name__)
_MERGE = "application/merge-patch+json"


class Reporter:
    """Reports. ``statuses``: kind → its declared status; ``served``: where a kind is served, None if it is not;
    ``may_write``: whether this process leads."""

    def __init__(
        self,
        cluster: Cluster,
        statuses: Mapping[str, Status],
        served: Callable[[str], Served | None],
        may_write: Callable[[], bool],
    ) -> None:
        self.rejected: dict[Key, str] = {}
        """Objects whose status the cluster does not take, with its words."""
        self.counters: Counter[str] = Counter()
        self._cluster = cluster
        self._statuses = statuses
        self._served = served
        self._said: dict[Key, DesiredStatus] = {}
        self._live: dict[Key, Live] = {}
        self.loop: Loop[Key] = Loop(
            self._report, gate=open_while(may_write), backoff=DENIED, on_failure=self._note_failure
        )

    def stored(self, key: Key, value: bytes | None) -> None:
        """Note what etcd holds of a resource; None: nothing."""
        if key.kind not in self._statuses:
            return
        said = desired_status_of(value) if value is not None else None
        if said is None:
            self._said.pop(key, None)
            self.loop.end_backoff(key)
        elif self._said.get(key) != said:
            self._said[key] = said
            self.loop.add(key)

    def live(self, key: Key, body: bytes | None) -> None:
        """Note what the cluster has; None: the object is gone."""
        if key.kind not in self._statuses:
            return
        if body is None:
            self._live.pop(key, None)
            self.rejected.pop(key, None)
            self.loop.end_backoff(key)
            return
        try:
            self._live[key] = live_of(body)
        except UNUSABLE as error:
            _LOG.debug("the status of %s can't be read: %s", key, error)
            return
        self.loop.add(key, unchanged=True)

    def resource_version(self, key: Key) -> str:
        """The resourceVersion of the cluster's object; empty if it is not known."""
        live = self._live.get(key)
        return live.metadata.version if live is not None else ""

    def listed(self, kind: str, uids: frozenset[str]) -> None:
        """Note a complete list."""
        for key in [key for key in self._live if key.kind == kind and key.uuid not in uids]:
            self.live(key, None)

    def look_at_all(self) -> None:
        """Look at everything: this process may write now."""
        for key in self._said:
            self.loop.add(key)
        self.loop.wake()

    async def _report(self, key: Key) -> None:
        said, live, served = self._said.get(key), self._live.get(key), self._served(key.kind)
        if said is None or live is None or served is None or not served.has_status:
            return
        patch = status_patch(said, live, self._statuses[key.kind])
        if patch is None:
            self.rejected.pop(key, None)
            return
        path = served.path_of(live.metadata.namespace, live.metadata.name)
        try:
            await self._patch(key, path, patch)
            self.rejected.pop(key, None)
        except NotServed:
            return
        except Rejected as error:
            if error.status != HTTPStatus.NOT_FOUND:
                # It would be rejected again as it is.
                self.rejected[key] = str(error)
                self.counters["statuses_rejected"] += 1

    def _note_failure(self, key: Key, error: Exception) -> None:
        if not isinstance(error, Failure | msgspec.MsgspecError):
            _LOG.exception("the status of %s can't be reported", key)
        if not isinstance(error, Conflict):
            self.rejected[key] = str(error)

    async def _patch(self, key: Key, path: str, patch: Mapping[str, Any]) -> None:
        """Send a patch. After a conflict the object is read again, for the next attempt."""
        try:
            body = await self._cluster.send("PATCH", f"{path}/status", {"fieldManager": MANAGER}, patch, _MERGE)
        except Conflict:
            live = live_of(await self._cluster.get(path))
            if live.metadata.uid == key.uuid:
                self._live[key] = live
            raise
        crashpoints.reach("status.sent")
        self.counters["statuses"] += 1
        # An event of the watch may be newer than this answer; one that is older is followed by ours.
        self._live[key] = live_of(body)
