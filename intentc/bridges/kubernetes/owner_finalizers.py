"""Carries the finalizers that compilers claim on mirrored resources to the objects of the cluster, and away from them.

Why it exists: only the cluster can hold up the end of its objects. A finalizer of ours that the copy in etcd has is
added to its object, and one that the copy lacks is removed from it; while there is no copy, nothing is known, and
nothing changes. Others' finalizers stay. Each change is made on the object as it is at that moment. One that is denied
is tried again with a back-off of its own, and delays no other. ``manifest_reconciler`` asks whether an owner lacks one;
the finalizer of a manifest itself is removed by ``manifest_answers``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from intentc.model import Key
from intentc.reconcile import Loop, open_while
from intentc.reconcile.failures import Conflict, Failure, Rejected

from .cluster import DENIED, Cluster, NotServed
from .rest_mapping import Served
from .wire import UNUSABLE, Identity

_LOG = logging.getLogger(__name__)
_MERGE = "application/merge-patch+json"


class _Metadata(msgspec.Struct):
    uid: str = ""
    version: str = msgspec.field(default="", name="resourceVersion")
    ending: str = msgspec.field(default="", name="deletionTimestamp")
    finalizers: tuple[str, ...] = ()
    mirrored: bool = False


class _Object(msgspec.Struct):
    metadata: _Metadata


_DECODER = msgspec.json.Decoder(_Object)


class OwnerFinalizers:
    """``ours``: the finalizers of the compilers; ``named``: the name of a copy, or of its object; ``served``: where a
    kind is served, None if it is not; ``may_write``: whether this process leads; ``on_change`` is called after each
    change."""

    def __init__(
        self,
        cluster: Cluster,
        ours: frozenset[str],
        named: Callable[[Key], Identity | None],
        served: Callable[[str], Served | None],
        may_write: Callable[[], bool],
        on_change: Callable[[], None],
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.rejected: dict[Key, str] = {}
        """Objects whose finalizers the cluster does not let us change, with its words."""
        self._cluster = cluster
        self._ours = ours
        self._named = named
        self._served = served
        self._on_change = on_change
        self._copies: dict[Key, frozenset[str]] = {}
        self._objects: dict[Key, frozenset[str]] = {}
        self._kinds: set[str] = set()
        """Those that copies were of."""
        self.loop: Loop[Key] = Loop(
            self._change, gate=open_while(may_write), backoff=DENIED, on_failure=self._note_failure
        )

    def lacks(self, uuid: str) -> bool:
        """Whether the object with this uuid has not all of our finalizers that its copy has."""
        keys = (Key(kind, uuid) for kind in self._kinds)
        return any(self.loop.queue.busy(key) and self._lacking(key) for key in keys)

    def stored(self, key: Key, value: bytes | None) -> None:
        """Note what etcd holds of a mirrored kind; None: nothing."""
        if not self._ours:
            return
        found = _read(value) if value is not None else None
        if found is None or not found.mirrored:
            self._copies.pop(key, None)
            self.rejected.pop(key, None)
            self.loop.end_backoff(key)
        else:
            wanted = self._ours & set(found.finalizers)
            self._kinds.add(key.kind)
            is_unchanged = self._copies.get(key) == wanted
            self._copies[key] = wanted
            self._look(key, unchanged=is_unchanged)

    def live(self, key: Key, body: bytes | None) -> None:
        """Note what the cluster has; None: the object is gone."""
        if not self._ours:
            return
        found = _read(body) if body is not None else None
        ours = self._ours & set(found.finalizers) if found is not None else frozenset[str]()
        if ours:
            self._objects[key] = ours
        else:
            self._objects.pop(key, None)
        if body is None:
            self.rejected.pop(key, None)
            self.loop.end_backoff(key)
        else:
            self._look(key, unchanged=True)

    def listed(self, kind: str, uids: frozenset[str]) -> None:
        """Note a complete list."""
        for key in [key for key in self._objects if key.kind == kind and key.uuid not in uids]:
            self.live(key, None)

    def look_at_all(self) -> None:
        """Look at everything: this process may write now."""
        for key in self._copies:
            self._look(key)
        self.loop.wake()

    def _look(self, key: Key, *, unchanged: bool = False) -> None:
        if self._differs(key):
            self.loop.add(key, unchanged=unchanged)
        else:
            self.rejected.pop(key, None)
            self.loop.end_backoff(key)

    def _differs(self, key: Key) -> bool:
        return key in self._copies and self._copies[key] != self._objects.get(key, frozenset())

    def _lacking(self, key: Key) -> frozenset[str]:
        return self._copies.get(key, frozenset()) - self._objects.get(key, frozenset())

    async def _change(self, key: Key) -> None:
        name, served = self._named(key), self._served(key.kind)
        if name is not None and served is not None and self._differs(key):
            try:
                await self._patch(key, served.path_of(name.namespace, name.name))
                self.rejected.pop(key, None)
            except NotServed:
                pass
            except Rejected as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        self._on_change()

    def _note_failure(self, key: Key, error: Exception) -> None:
        if not isinstance(error, Failure | msgspec.MsgspecError):
            _LOG.exception("the finalizers of %s can't be changed", key)
        elif isinstance(error, Conflict):
            return
        elif self.rejected.get(key) != str(error):
            _LOG.warning("the finalizers of %s %s: %s", key.kind, self._named(key), error)
        self.rejected[key] = str(error)

    async def _patch(self, key: Key, path: str) -> None:
        found = _DECODER.decode(await self._cluster.get(path)).metadata
        wanted = self._copies.get(key)
        if found.uid != key.uuid or wanted is None:
            return
        # A cluster takes no new finalizers on what is being deleted.
        kept = [one for one in found.finalizers if one not in self._ours or one in wanted]
        added = [] if found.ending else sorted(wanted - set(found.finalizers))
        after = (*kept, *added)
        if after != found.finalizers:
            identity = {"uid": found.uid, "resourceVersion": found.version}
            patch = {"metadata": {**identity, "finalizers": list(after) or None}}
            await self._cluster.send("PATCH", path, None, patch, _MERGE)
            self.counters["finalizers"] += 1
        ours = self._ours & set(after)
        if ours:
            self._objects[key] = ours
        else:
            self._objects.pop(key, None)


def _read(value: bytes) -> _Metadata | None:
    try:
        return _DECODER.decode(value).metadata
    except UNUSABLE:
        return None
