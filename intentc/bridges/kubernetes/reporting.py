"""Writes the status that compilers claim to the objects of the cluster, while this process may write.

Why it exists: each side changes at any time, so an object is looked at whenever one of them shows a change, and what is
sent depends only on what both have then (``status_patch``). If the cluster has a newer one, it is read again. Kinds
whose status compilers do not claim cost nothing here. Of the others it also knows the resourceVersion, for Events.

State: what both sides say, for those kinds; the objects to look at; rejections, failures and counters. It writes the
status subresources of the cluster.

Touches: clock, logs; through others: environment, files, HTTP, processes, randomness, sockets.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus

import anyio
import msgspec

from intentc import crashpoints
from intentc.backoff import Backoff
from intentc.model import Key
from intentc.model.status import Status

from .cluster import Cluster
from .discovery import Served
from .errors import ClusterError, NotServed, Rejected
from .status_patch import MANAGER, Live, Said, live_of, said_of, status_patch

_LOG = logging.getLogger(__name__)
_AGAIN = Backoff(0.2, 30.0)
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
        self._may_write = may_write
        self._said: dict[Key, Said] = {}
        self._live: dict[Key, Live] = {}
        self._dirty: dict[Key, None] = {}
        self._is_writing = False
        self._failures = 0
        self._wake = anyio.Event()

    @property
    def idle(self) -> bool:
        """Whether nothing is to be written."""
        return not self._dirty and not self._is_writing

    def stored(self, key: Key, value: bytes | None) -> None:
        """Note what etcd holds of a resource; None: nothing."""
        if key.kind not in self._statuses:
            return
        said = said_of(value) if value is not None else None
        if said is None:
            self._said.pop(key, None)
        elif self._said.get(key) != said:
            self._said[key] = said
            self._look(key)

    def live(self, key: Key, body: bytes | None) -> None:
        """Note what the cluster has; None: the object is gone."""
        if key.kind not in self._statuses:
            return
        if body is None:
            self._live.pop(key, None)
            self.rejected.pop(key, None)
            return
        try:
            self._live[key] = live_of(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            _LOG.debug("the status of %s can't be read: %s", key, error)
            return
        self._look(key)

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
        self._dirty |= dict.fromkeys(self._said)
        self._wake.set()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            while self._dirty and self._may_write():
                key = next(iter(self._dirty))
                del self._dirty[key]
                self._is_writing = True
                try:
                    await self._report(key)
                finally:
                    self._is_writing = False
            await self._wake.wait()
            self._wake = anyio.Event()

    def _look(self, key: Key) -> None:
        self._dirty[key] = None
        self._wake.set()

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
            body = await self._cluster.send("PATCH", f"{path}/status", {"fieldManager": MANAGER}, patch, _MERGE)
            crashpoints.reach("status.sent")
            self.counters["statuses"] += 1
            self._failures = 0
            self.rejected.pop(key, None)
            # An event of the watch may be newer than this answer; one that is older is followed by ours.
            self._live[key] = live_of(body)
        except Rejected as error:
            await self._was_rejected(key, path, error)
        except NotServed:
            return
        except (ClusterError, msgspec.MsgspecError) as error:
            await self._failed(key, str(error))

    async def _was_rejected(self, key: Key, path: str, error: Rejected) -> None:
        if error.status == HTTPStatus.NOT_FOUND:
            return
        if error.status != HTTPStatus.CONFLICT:
            self.counters["statuses_rejected"] += 1
            self.rejected[key] = str(error)
            return
        try:
            live = live_of(await self._cluster.get(path))
        except (ClusterError, msgspec.MsgspecError) as again:
            if not (isinstance(again, Rejected) and again.status == HTTPStatus.NOT_FOUND):
                await self._failed(key, str(again))
            return
        if live.metadata.uid == key.uuid:
            self._live[key] = live
            self._look(key)

    async def _failed(self, key: Key, words: str) -> None:
        """Wait, and look again."""
        self._failures += 1
        self.rejected[key] = words
        self._look(key)
        await anyio.sleep(_AGAIN.seconds(self._failures))
